"""A walk that did not end in time."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Stop, Stopped
from onnxpert.diagnose.endings import ended
from onnxpert.diagnose.rule import rule


@rule("CAP021", "out-of-time", reads=Stopped, severity=Severity.ERROR, since="0.2")
def out_of_time(stopped: Stopped) -> Iterator[Hit]:
    """
    ## What it does
    Says where an export was when the time that `timeout=` (`--timeout`) allows was over.

    ## Why it matters
    A model that waits for a lock, a download or a loop that never ends would hold up everything
    after it. With a timeout the work is done in a child process, which is ended; nothing is written.

    ## Example
    ```python
    import time

    import torch


    class Waits(torch.nn.Module):
        def forward(self, x):
            time.sleep(3600)
            return x


    model = Waits().eval()
    args = (torch.randn(3),)
    options = {"timeout": 1}
    ```

    ## Use instead
    ```python
    import torch


    class Works(torch.nn.Module):
        def forward(self, x):
            return x


    model = Works().eval()
    args = (torch.randn(3),)
    options = {"timeout": 100}
    ```

    ## Repair safety
    Not repaired: nobody knows how long it would have taken.
    """
    if stopped.why is Stop.TIME:
        yield ended(
            stopped,
            f"did not end within {stopped.limit}",
            "look at that line; a large model may only need a longer timeout"
            if stopped.location is not None
            else "allow more time: to import torch takes a few seconds by itself",
        )
