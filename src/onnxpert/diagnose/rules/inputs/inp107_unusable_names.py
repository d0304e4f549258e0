"""Input or output names that cannot be used as given."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.problems import problems
from onnxpert.diagnose.rule import rule


@rule("INP107", "unusable-names", reads=Loaded, severity=Severity.ERROR, since="0.1")
def unusable_names(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds `input_names` that are more than the inputs, or the same name twice.

    ## Why it matters
    A file cannot have two inputs of one name, nor a name for an input that is not there.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"input_names": ["x", "mask"]}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"input_names": ["x"]}
    ```

    ## Repair safety
    Not repaired: only you know what was meant.
    """
    yield from problems(loaded, "bad-names")
