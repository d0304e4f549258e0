"""A walk that took more memory than it was given."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Stop, Stopped
from onnxpert.diagnose.endings import ended
from onnxpert.diagnose.rule import rule


@rule("CAP022", "out-of-memory", reads=Stopped, severity=Severity.ERROR, since="0.2")
def out_of_memory(stopped: Stopped) -> Iterator[Hit]:
    """
    ## What it does
    Says where an export was when it held more memory than `max_memory=` (`--max-memory`) allows, or
    when the system ended it, as one that runs out of memory does.

    ## Why it matters
    Without a limit the whole machine slows down, and the process is killed without a word. With one
    the work is done in a child process, which is ended; nothing is written.

    ## Example
    ```python
    import torch


    class Grows(torch.nn.Module):
        def forward(self, x):
            kept = [bytes([1]) * (1 << 24) for _ in range(10_000)]
            return x + len(kept)


    model = Grows().eval()
    args = (torch.randn(3),)
    options = {"max_memory": "2G"}
    ```

    ## Use instead
    ```python
    import torch


    class Stays(torch.nn.Module):
        def forward(self, x):
            return x + 10_000


    model = Stays().eval()
    args = (torch.randn(3),)
    options = {"max_memory": "8G"}
    ```

    ## Repair safety
    Not repaired.
    """
    help = "a smaller example input, a larger limit, or the cause at that line"
    if stopped.why is Stop.MEMORY:
        yield ended(stopped, f"took more than {stopped.limit} of memory", help)
    if stopped.why is Stop.KILLED:
        yield ended(
            stopped, "was killed from outside, as a system does that is out of memory", help
        )
