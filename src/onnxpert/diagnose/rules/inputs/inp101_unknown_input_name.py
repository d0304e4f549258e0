"""A dynamic axis for an input that does not exist."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Loaded, Severity
from onnxpert.diagnose.problems import problems
from onnxpert.diagnose.rule import rule


@rule("INP101", "unknown-input-name", reads=Loaded, severity=Severity.ERROR, since="0.1")
def unknown_input_name(loaded: Loaded) -> Iterator[Hit]:
    """
    ## What it does
    Finds names in `dynamic_axes` or `dynamic_shapes` that no input of the model has.

    ## Why it matters
    torch ignores such a name or fails far from the cause; the dimension you asked for stays fixed.

    ## Example
    ```python
    import torch

    model = torch.nn.Conv2d(3, 16, 3).eval()
    args = (torch.randn(1, 3, 8, 8),)
    options = {"dynamic_axes": {"image": {2: "height", 3: "width"}}}
    ```

    ## Use instead
    ```python
    import torch

    model = torch.nn.Conv2d(3, 16, 3).eval()
    args = (torch.randn(1, 3, 8, 8),)
    options = {"dynamic_axes": {"input": {2: "height", 3: "width"}}}
    ```

    ## Repair safety
    Not repaired: only you know what was meant.
    """
    yield from problems(loaded, "unknown-input")
