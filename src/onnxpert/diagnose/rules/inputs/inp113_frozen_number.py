"""A Python float among the inputs, which a plain export would freeze."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("INP113", "frozen-number", reads=Captured, severity=Severity.WARNING, since="0.1")
def frozen_number(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds Python floats among the example inputs: a graph has no input for them.

    ## Why it matters
    The file would compute with the number of the example for ever. That is right for a setting and
    wrong for a threshold or a temperature that changes from call to call.

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
    Safe: `take-number-as-input` makes it an input of the file, a tensor without dimensions. Where
    the model can do that only with a float, it stays a constant, and a warning (INP123).
    """
    if captured.loaded is None:
        return
    for leaf in captured.loaded.leaves:
        if isinstance(leaf.value, float) and leaf.name not in captured.loaded.constants:
            yield Hit(
                f"input {leaf.path} is the number {leaf.value!r}, which a graph holds as a constant",
                at=captured.loaded.source,
                help=f"give it as torch.tensor({leaf.value!r}) to make it an input",
            )
