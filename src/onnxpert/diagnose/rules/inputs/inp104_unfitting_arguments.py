"""Arguments that the model's signature does not take."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.problems import problems
from onnxpert.diagnose.rule import rule


@rule("INP104", "unfitting-arguments", reads=Loaded, severity=Severity.ERROR, since="0.1")
def unfitting_arguments(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds example inputs that cannot be bound to the parameters of `forward`: too many, too few, misnamed.

    ## Why it matters
    The model would fail on them before anything can be captured.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"kwargs": {"mask": torch.ones(3)}}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    ```

    ## Repair safety
    Not repaired: only you know what was meant.
    """
    yield from problems(loaded, "bad-signature")
