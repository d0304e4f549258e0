"""A dynamic axis that the tensor does not have."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.problems import problems
from onnxpert.diagnose.rule import rule


@rule("INP102", "axis-out-of-range", reads=Loaded, severity=Severity.ERROR, since="0.1")
def axis_out_of_range(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds axes in `dynamic_axes` or `dynamic_shapes` beyond the rank of their tensor.

    ## Why it matters
    The wish cannot be granted, and nothing else in the export would say so.

    ## Example
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"dynamic_axes": {"input": {2: "sequence"}}}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Linear(4, 2).eval()
    args = (torch.randn(3, 4),)
    options = {"dynamic_axes": {"input": {0: "batch"}}}
    ```

    ## Repair safety
    Not repaired: only you know what was meant.
    """
    yield from problems(loaded, "bad-axis")
