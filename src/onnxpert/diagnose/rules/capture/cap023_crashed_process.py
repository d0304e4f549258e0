"""A walk that took its whole process with it."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Hit, Severity, Stop, Stopped
from onnxpert.diagnose.endings import ended
from onnxpert.diagnose.rule import rule

_MEANINGS = {
    "SIGSEGV": "a segmentation fault",
    "SIGABRT": "an abort, as C++ code does on an error nobody catches",
    "SIGBUS": "a bus error",
    "SIGFPE": "a division by zero of integers, in native code",
    "SIGILL": "an instruction that this processor does not have",
}


@rule("CAP023", "crashed-process", reads=Stopped, severity=Severity.ERROR, since="0.2")
def crashed_process(stopped: Stopped) -> Iterator[Hit]:
    """
    ## What it does
    Says where an export was when its process died: by a segmentation fault, an abort, or because
    the model left it (`os._exit`).

    ## Why it matters
    A crash in native code cannot be caught, so it ends whoever calls `export`. With `timeout=` or
    `max_memory=` the work is done in a child process, and the crash becomes this finding.

    ## Example
    ```python
    import os

    import torch


    class Aborts(torch.nn.Module):
        def forward(self, x):
            os.abort()
            return x


    model = Aborts().eval()
    args = (torch.randn(3),)
    options = {"timeout": 100}
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
    Not repaired.
    """
    if stopped.why is Stop.CRASH:
        how = _MEANINGS.get(stopped.limit, stopped.limit)
        yield ended(
            stopped,
            f"crashed its process: {how}",
            "find out which native code that line calls: an extension of your own, or a library "
            "that does not fit torch (`onnxpert doctor`)",
        )
