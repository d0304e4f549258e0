"""What a model remembers of its calls and answers by, each thing at the line that writes it down."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Captured, CaptureFailed, Deed, Done, Loaded, Location, Remembered
from onnxpert.engine.proof import is_untouched
from onnxpert.engine.walk import Walk
from onnxpert.verify import recollections

_DEEDS = (Deed.ATTRIBUTE, Deed.GLOBAL)


def recollected(walk: Walk, loaded: Loaded, *, certain: bool = False) -> Iterator[Remembered]:
    """All that is known to be remembered; where that is `certain`, at least one thing."""
    done = _done(walk.captured)
    lasting = [one for one in done if not one.handed_on and not one.cached]
    asked = certain or (bool(lasting) and not is_untouched(walk.captured))
    names = recollections(loaded) if asked else ()
    for name in names:
        at = next((one.location for one in lasting if one.what == name and one.location), None)
        yield Remembered(name, at or _place(done), loaded.exposed)
    if certain and not names:
        yield Remembered("", _place(done), loaded.exposed)


def _done(found: Captured | CaptureFailed | None) -> list[Done]:
    seen = found.scouted if isinstance(found, CaptureFailed) else found
    every = seen.done if seen is not None else ()
    return sorted(
        (one for one in every if one.deed in _DEEDS), key=lambda one: _DEEDS.index(one.deed)
    )


def _place(done: list[Done]) -> Location | None:
    return next((one.location for one in done if one.location is not None), None)
