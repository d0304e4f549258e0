"""An input that forward changes in place."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Hit, InputKind, Severity
from onnxpert.diagnose.flow import changes
from onnxpert.diagnose.rule import rule


@rule("STA304", "changed-input", reads=Captured, severity=Severity.WARNING, since="0.1")
def changed_input(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds inputs that `forward` writes to in place.

    ## Why it matters
    The outputs of the file are right, but the caller's array stays as it was: code that relied on
    the change sees the old values.

    ## Example
    ```python
    import torch


    class Clips(torch.nn.Module):
        def forward(self, x):
            x.clamp_(0, 1)
            return x * 2


    model = Clips().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Clips(torch.nn.Module):
        def forward(self, x):
            return x.clamp(0, 1) * 2


    model = Clips().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired by itself: return the changed tensor if the caller needs it, or export with
    `state="io"`, which makes it an output.
    """
    for change in changes(captured):
        for place in change.places if change.kind is InputKind.USER else ():
            yield Hit(
                f"forward changes its input {change.name} in place; the file does not",
                at=place,
                help=f"return {change.name} as an output if the caller needs the new values",
            )
