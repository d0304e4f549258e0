"""A Python number among the inputs, which the file will hold as a constant."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("INP113", "frozen-number", reads=Captured, severity=Severity.WARNING, since="0.1")
def frozen_number(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds Python numbers among the example inputs: the file has no input for them.

    ## Why it matters
    The file computes with the number of the example for ever. That is right for a setting and wrong
    for a threshold or a length that changes from call to call.

    ## Example
    ```python
    import torch


    class Scale(torch.nn.Module):
        def forward(self, x, factor):
            return x * factor


    model = Scale().eval()
    args = (torch.randn(3), 0.5)
    ```

    ## Use instead
    ```python
    import torch


    class Scale(torch.nn.Module):
        def forward(self, x, factor):
            return x * factor


    model = Scale().eval()
    args = (torch.randn(3), torch.tensor(0.5))
    ```

    ## Repair safety
    Not repaired: a number that stays is a fine thing, if it is meant to stay.
    """
    if captured.loaded is None:
        return
    for leaf in captured.loaded.leaves:
        is_number = isinstance(leaf.value, (int, float)) and not isinstance(leaf.value, bool)
        if is_number and leaf.scalar is None:
            yield Hit(
                f"input {leaf.path} is the number {leaf.value!r}, and the file holds it as a constant",
                at=captured.loaded.source,
                help=f"give it as torch.tensor({leaf.value!r}) to make it an input"
                + _or_dynamic(leaf.name, leaf.value),
            )


def _or_dynamic(name: str, value: float) -> str:
    if isinstance(value, bool) or not isinstance(value, int):
        return ""
    return f', or ask for it with dynamic_shapes={{"{name}": Dim.DYNAMIC}}'
