"""A variable of the Python module that forward changes."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, Deed, Hit, Severity
from onnxpert.diagnose.caches import advice
from onnxpert.diagnose.rule import rule


@rule("STA307", "changed-global", reads=Captured, severity=Severity.WARNING, since="0.2")
def changed_global(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds global variables that `forward` assigns, and global lists and dictionaries that it changes:
    counters, caches, logs.

    ## Why it matters
    The change is Python and is not in the file. If a later call reads it, the file differs from the
    model; the proof calls the model twice to find out. A cache of what sizes and settings decide is
    only information.

    ## Example
    ```python
    import torch

    CALLS = 0


    class Counts(torch.nn.Module):
        def forward(self, x):
            global CALLS
            CALLS += 1
            return x * 2


    model = Counts().eval()
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
    Not repaired: nothing is wrong unless a later call reads it, which is an error of its own.
    """
    for done in captured.done:
        if done.deed is Deed.GLOBAL:
            yield Hit(
                f"forward changes the global {done.what}, and the file leaves that out",
                at=done.location,
                help=advice(captured) if done.cached else _COUNTED,
                severity=Severity.INFO if done.cached else None,
            )


_COUNTED = "count outside of the model; make it an input and an output if the result depends on it"
