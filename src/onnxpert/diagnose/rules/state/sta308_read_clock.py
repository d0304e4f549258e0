"""The time of day, read in forward."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("STA308", "read-clock", reads=Captured, severity=Severity.WARNING, since="0.2")
def read_clock(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds reads of the clock while `forward` runs.

    ## Why it matters
    What is computed from the time is a constant of the file: the moment of the export.

    ## Example
    ```python
    import time

    import torch


    class Ages(torch.nn.Module):
        def forward(self, x):
            started = time.time()
            return x * 2, started


    model = Ages().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Ages(torch.nn.Module):
        def forward(self, x, started):
            return x * 2, started


    model = Ages().eval()
    args = (torch.randn(3), torch.tensor(0.0))
    ```

    ## Repair safety
    Not repaired.
    """
    for done in captured.done:
        if done.deed is Deed.CLOCK:
            yield Hit(
                f"forward reads the clock with {done.what}, which the file cannot",
                at=done.location,
                help="measure around the call, or give the time as an input",
            )
