"""A tensor that is larger than the memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnxpert.core.types import CaptureFailed, Hit, Severity
from onnxpert.diagnose.causes import Cause, cause, evidence
from onnxpert.diagnose.rule import rule


@rule("CAP024", "refused-allocation", reads=CaptureFailed, severity=Severity.ERROR, since="0.2")
def refused_allocation(failed: CaptureFailed) -> Iterator[Hit]:
    """
    ## What it does
    Finds the line at which the model asks for more memory than the machine has.

    ## Why it matters
    The model cannot run on its example here, so there is nothing to compare a file with.

    ## Example
    ```python
    import torch


    class Huge(torch.nn.Module):
        def forward(self, x):
            table = torch.ones(1 << 50, dtype=torch.uint8)
            return x + table[0]


    model = Huge().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Small(torch.nn.Module):
        def forward(self, x):
            table = torch.ones(1 << 10, dtype=torch.uint8)
            return x + table[0]


    model = Small().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired.
    """
    if cause(failed) is not Cause.MEMORY:
        return
    said = evidence(failed)
    size = re.search(r"tried to allocate (\d+) bytes", said.text)
    asked = f"{int(size[1]) / (1 << 30):.3g} GiB" if size else "more memory than there is"
    yield Hit(
        f"the model asks for {asked}, and does not get it",
        at=said.location,
        help="a smaller example input, or a smaller tensor at that line",
    )
