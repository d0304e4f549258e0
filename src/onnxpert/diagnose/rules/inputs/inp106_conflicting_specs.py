"""Two descriptions of the dynamic dimensions at once."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.problems import problems
from onnxpert.diagnose.rule import rule


@rule("INP106", "conflicting-specs", reads=Loaded, severity=Severity.ERROR, since="0.1")
def conflicting_specs(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds calls that give both `dynamic_axes` and `dynamic_shapes`.

    ## Why it matters
    They are two spellings of one wish; which of them is meant cannot be known.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"dynamic_axes": {"input": [0]}, "dynamic_shapes": ({0: "batch"},)}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"dynamic_shapes": ({0: "batch"},)}
    ```

    ## Repair safety
    Not repaired: only you know what was meant.
    """
    yield from problems(loaded, "conflicting-spec")
