"""What a model remembers of its calls and answers by, each thing at the line that writes it down."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from onnxpert.core.types import (
    Captured,
    CaptureFailed,
    Deed,
    Done,
    Loaded,
    Location,
    Remembered,
    Sight,
)
from onnxpert.engine.proof import is_untouched
from onnxpert.engine.walk import Walk
from onnxpert.verify import recollections

_DEEDS = (Deed.ATTRIBUTE, Deed.GLOBAL)


def recollected(walk: Walk, loaded: Loaded, *, certain: bool = False) -> Iterator[Remembered]:
    """All that is known to be remembered; where that is `certain`, at least one thing."""
    done, written = _done(walk.captured), _written(walk.captured)
    lasting = [one for one in done if not one.handed_on and not one.cached]
    subject = _subject(walk.captured, loaded)
    asked = certain or ((bool(lasting) or bool(written)) and subject is not None)
    names = recollections(subject or loaded, tensors=tuple(written)) if asked else ()
    for name in names:
        at = _line_of(name, lasting) or written.get(name) or _place(done)
        yield Remembered(name, at, loaded.exposed)
    if certain and not names:
        yield Remembered("", _place(done), loaded.exposed)


def _line_of(name: str, lasting: Sequence[Done]) -> Location | None:
    """Where it is kept: of one key of a dictionary, the line that says so, if there are several."""
    whole, bracket, key = name.partition("[")
    places = [one.location for one in lasting if one.what == whole and one.location is not None]
    keyed = [at for at in places if f"{bracket}{key}" in at.code.replace('"', "'")]
    return next(iter(keyed or places), None)


def _subject(found: Captured | CaptureFailed | None, loaded: Loaded) -> Loaded | None:
    """What may be called: the model, or what was looked at in its place; None where that is nothing."""
    if not is_untouched(found) or not isinstance(found, CaptureFailed):
        return loaded
    other = found.scouted.loaded if found.scouted is not None else None
    return None if other is None or other.module is loaded.module else other


def _written(found: Captured | CaptureFailed | None) -> dict[str, Location | None]:
    """The tensors that are written to in place, and where, if no graph tells whether that matters."""
    seen = found.scouted if isinstance(found, CaptureFailed) else None
    sights = [one for one in seen.seen if one.sight is Sight.WRITE] if seen is not None else []
    return {one.name: one.location for one in reversed(sights)}


def _done(found: Captured | CaptureFailed | None) -> list[Done]:
    seen = found.scouted if isinstance(found, CaptureFailed) else found
    every = seen.done if seen is not None else ()
    return sorted(
        (one for one in every if one.deed in _DEEDS), key=lambda one: _DEEDS.index(one.deed)
    )


def _place(done: list[Done]) -> Location | None:
    return next((one.location for one in done if one.location is not None), None)
