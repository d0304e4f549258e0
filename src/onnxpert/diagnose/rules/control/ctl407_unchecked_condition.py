"""A condition for which the model raises and the file does not."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.raising import raised_text
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import Captured, Hit, Severity
from onnxpert.diagnose.conditions import whole
from onnxpert.diagnose.rule import rule


@rule("CTL407", "unchecked-condition", reads=Captured, severity=Severity.INFO, since="0.2")
def unchecked_condition(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds `assert`, and `if ...: raise`, on conditions that the data or a dynamic size decide.

    ## Why it matters
    A file has no exceptions: where the model refuses an input, the file computes on.

    ## Example
    ```python
    import torch


    class Checks(torch.nn.Module):
        def forward(self, x):
            if x.min() < 0:
                raise ValueError("only positive numbers")
            return x.sqrt()


    model = Checks().eval()
    args = (torch.rand(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Clamps(torch.nn.Module):
        def forward(self, x):
            return x.clamp(min=0).sqrt()


    model = Clamps().eval()
    args = (torch.rand(3),)
    ```

    ## Repair safety
    Nothing to repair: what the model takes, the file computes.
    """
    for one in captured.preconditions:
        # What torch's own layers refuse, every user of theirs knows.
        if one.location is not None and ownership(one.location.file) == Owner.USER:
            raises = raised_text(one.raised) or one.raises
            yield Hit(
                f"the model raises here for some inputs, and the file does not: {raises}",
                at=whole(one.location),
                help="check before the file is called, if the check matters",
            )
