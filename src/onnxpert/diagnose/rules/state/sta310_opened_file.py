"""A file that forward opens."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.rule import rule


@rule("STA310", "opened-file", reads=Captured, severity=Severity.INFO, since="0.2")
def opened_file(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds calls of `open`, `torch.load`, `numpy.load` and questions to the file system (`os.listdir`,
    `os.path.exists`) while `forward` runs: tables that are read, logs that are written.

    ## Why it matters
    What was read is a constant of the file; what was written is written once, during the export.

    ## Example
    ```python
    import os

    import torch


    class Logs(torch.nn.Module):
        def forward(self, x):
            with open(os.devnull, "w") as log:
                log.write(f"called with {tuple(x.shape)}")
            return x * 2


    model = Logs().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Works(torch.nn.Module):
        def forward(self, x):
            return x * 2


    model = Works().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Nothing to repair: the outputs are the same.
    """
    for done in captured.done:
        if done.deed is Deed.FILE:
            yield Hit(
                "forward opens a file of its own, and the exported model does not"
                if done.what == "open"
                else f"forward calls {done.what}, and the exported model does not",
                at=done.location,
                help="read tables when the model is built, and write logs around the call",
            )
