"""A random operator beyond the first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxpert.core.calls import calls
from onnxpert.core.source import of_meta
from onnxpert.core.types import Captured, Hit, Severity, Sight
from onnxpert.diagnose.flow import draws
from onnxpert.diagnose.modes import FLAGS, is_on, is_stopped_by_eval, is_training
from onnxpert.diagnose.rule import rule

if TYPE_CHECKING:
    from torch import fx


@rule("NUM704", "further-chance", reads=Captured, severity=Severity.WARNING, since="0.2")
def further_chance(captured: Captured) -> Iterator[Hit]:
    """
    ## What it does
    Lists every place where a model draws random numbers, the first of which the proof names already.

    ## Why it matters
    Each of them has to go, or to become an input, for the results to be provable. Where the results
    are found to be random it is as much of an error as the first one.

    ## Example
    ```python
    import torch


    class Noisy(torch.nn.Module):
        def forward(self, x):
            x = x + torch.randn_like(x)
            return x * torch.rand_like(x)


    model = Noisy().eval()
    args = (torch.randn(3),)
    ```

    ## Use instead
    ```python
    import torch


    class Noisy(torch.nn.Module):
        def forward(self, x, noise, scale):
            return (x + noise) * scale


    model = Noisy().eval()
    args = (torch.randn(3), torch.randn(3), torch.rand(3))
    ```

    ## Repair safety
    Not repaired: give the noise as an input.
    """
    drawing = [node for node in calls(captured.root) if draws(node)]
    drawing = [node for node in drawing if not is_stopped_by_eval(captured, node)]
    proven = captured.strategy != "scout"  # what the scout brings back is never proven
    # On one side of a branch it may be that the proof never comes by.
    proven = proven and bool(drawing) and drawing[0].graph is captured.root.graph
    named = drawing[0] if proven and not _drops_before(captured, drawing[0]) else None
    first = of_meta(named.meta) if named is not None else None
    for node in drawing:
        place = of_meta(node.meta)
        if first is None or place is None or (place.file, place.line) != (first.file, first.line):
            yield Hit(
                f"{_named(node.target.overloadpacket.__name__)} draws random numbers",
                at=place,
                help=_ADVICE,
            )
    yield from _unrecorded(captured, drawing)


_ADVICE = "give them as an input, or sample outside of the model"


def _named(operator: str) -> str:
    """As a user knows it: torch marks with underscores what is its own, and what writes in place."""
    return operator.strip("_")


def _unrecorded(captured: Captured, drawing: list[fx.Node]) -> Iterator[Hit]:
    """Draws that a call of the model made at lines of which the graph has none."""
    if captured.loaded is not None and is_training(captured.loaded):
        return
    places = [of_meta(node.meta) for node in drawing]
    known = {(at.file, at.line) for at in places if at is not None}
    whole = captured.strategy != "scout"
    for one in captured.seen:
        line = (one.location.file, one.location.line)
        if one.sight is Sight.DRAW and line not in known:
            yield Hit(
                f"{_named(one.name)} draws random numbers",
                at=one.location,
                help=_ADVICE,
                # A file that has none of it may still be right: what was drawn is kept, or unused.
                severity=Severity.INFO if whole else None,
            )


def _drops_before(captured: Captured, drawing: fx.Node) -> bool:
    """Whether a dropout that is on comes first: then that one is named, in words of its own."""
    for node in calls(captured.root):
        if node is drawing:
            return False
        name = getattr(getattr(node.target, "overloadpacket", None), "__name__", "")
        if "dropout" in name and name in FLAGS and is_on(name, node.args):
            return True
    return False
