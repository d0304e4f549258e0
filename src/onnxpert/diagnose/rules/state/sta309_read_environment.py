"""An environment variable, read in forward."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("STA309", "read-environment", reads=Captured, severity=Severity.INFO, since="0.2")
def read_environment(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds reads of `os.environ` while `forward` runs, and of what else is about the machine or the process: its
    name, its number, the working folder.

    ## Why it matters
    The file is made for the value that the variable has during the export, whatever it is later.

    ## Example
    ```python
    import os

    import torch


    class Switches(torch.nn.Module):
        def forward(self, x):
            return x * 2 if os.environ.get("SWITCHES_DOUBLE", "1") == "1" else x


    model = Switches().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Switches(torch.nn.Module):
        def __init__(self, double):
            super().__init__()
            self.double = double

        def forward(self, x):
            return x * 2 if self.double else x


    model = Switches(True).eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair, if the value is the one that is meant.
    """
    for done in captured.done:
        if done.deed is Deed.ENVIRONMENT:
            yield Hit(
                f"forward reads {done.what}, and the file keeps what it says now",
                at=done.location,
                help="read it once when the model is built",
            )
