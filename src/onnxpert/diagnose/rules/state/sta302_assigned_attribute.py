"""An attribute of the model that forward assigns."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.source import is_library
from onnxpert.core.types import Captured, Deed, Done, Hit, Severity
from onnxpert.diagnose.caches import advice
from onnxpert.diagnose.parts import parts
from onnxpert.diagnose.rule import rule


@rule("STA302", "assigned-attribute", reads=Captured, severity=Severity.WARNING, since="0.1")
def assigned_attribute(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Finds attributes that `forward` assigns while it runs: caches, counters, last results.

    ## Why it matters
    The assignment is Python and is not in the file. If a later call reads it, the file differs
    from the model; the proof calls the model twice to find out. Where every call assigns it before
    it reads it, as layers do that take a mean off and put it back, it is only information;
    and so is a cache of what sizes and settings decide, as `functools.cached_property` keeps it.

    ## Example
    ```python
    import torch


    class Keeps(torch.nn.Module):
        def forward(self, x):
            self.last = x * 2
            return x + 1


    model = Keeps().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Returns(torch.nn.Module):
        def forward(self, x):
            return x + 1, x * 2


    model = Returns().eval()
    args = (torch.randn(3),)
    ```

    ## Repair safety
    Not repaired: nothing is wrong unless a later call reads it, which is an error of its own.
    """
    done: dict[str, list[Done]] = {}
    for one in captured.done:
        if one.deed is Deed.ATTRIBUTE:
            done.setdefault(one.what, []).append(one)
    source = captured.loaded.source if captured.loaded else None
    classes = {
        kind.__name__
        for _, part in (parts(captured.loaded) if captured.loaded else ())
        for kind in type(part).__mro__
    }
    for name in captured.written:
        whose, _, attribute = name.rpartition(".")
        holder = whose if whose in classes else "self"
        for count, kept in enumerate(done.get(name, [Done(Deed.ATTRIBUTE, name, None)])):
            at = kept.location or source
            # A library's caches are nothing for its users to do about; that they matter is an error.
            # What one line is warned of need not be said of the others that do the same.
            is_quiet = kept.handed_on or kept.cached or count > 0
            is_quiet = is_quiet or (at is not None and is_library(at.file))
            yield Hit(
                f"forward assigns {holder}.{attribute}, and the file leaves that out",
                at=at,
                help=advice(captured) if kept.cached else _HANDED_ON if kept.handed_on else _KEPT,
                severity=Severity.INFO if is_quiet else None,
            )


_KEPT = "return it as an output if it is a result; nothing to do if it is a cache"
_HANDED_ON = (
    "nothing to do if only forward reads it, which assigns it first; else return it as an output"
)
