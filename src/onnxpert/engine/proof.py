"""The proof of a file, at all that its walk got to know: sizes that break an assumption, branches, chance."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from onnxpert.core.types import Captured, CaptureFailed, Loaded, Lowered, Randomness, Verified
from onnxpert.engine.again import may_have_other_sides
from onnxpert.engine.chance import randomness
from onnxpert.engine.offers import is_doubtful, pairs
from onnxpert.engine.walk import Walk
from onnxpert.verify import verify


def proof(walk: Walk, loaded: Loaded, file: Path) -> Verified:
    """A file against a model; what was not captured or lowered has nothing to add."""
    lowered = walk.lowered
    return verify(
        loaded,
        file,
        walk.runner,
        sizes=_sizes(lowered) if lowered is not None else (),
        far=_told_by_few(walk),
        randomness=chance_in(walk),
        captured=walk.captured if isinstance(walk.captured, Captured) else None,
        computed_in=walk.request.precision or walk.narrower,
        undetermined=walk.request.undetermined == "allow",
        provisional=may_have_other_sides(walk.captured, loaded),
        replaced_at=_doubts(walk, loaded, lowered) if lowered is not None else None,
        alike=_alike(loaded, lowered) if lowered is not None else (),
    )


def _sizes(lowered: Lowered) -> list[Mapping[str, int]]:
    """Just beyond what is assumed, just beneath what follows from it, and where it holds elsewhere."""
    beyond = [boundary.sizes for boundary in lowered.boundaries]
    beneath = [{one.name: one.lower - 1} for one in lowered.symbols if one.lower > 1]
    return [*beyond, *beneath, *lowered.witnesses]


def _doubts(walk: Walk, loaded: Loaded, lowered: Lowered) -> Callable[[Mapping[str, int]], bool]:
    return lambda sizes: is_doubtful(walk.captured, loaded, lowered, sizes)


def _alike(loaded: Loaded, lowered: Lowered) -> list[tuple[str, str]]:
    return [(first.name, second.name) for first, second in pairs(loaded, lowered)]


def chance_in(walk: Walk) -> Randomness | None:
    """Of a model that could not be captured, as much as was seen of it."""
    found = walk.captured
    seen = found.scouted if isinstance(found, CaptureFailed) else found
    return None if seen is None else randomness(seen, walk.request.randomness == "allow")


def _told_by_few(walk: Walk) -> list[str]:
    """The sizes whose loops were written down after a look at a few lengths."""
    if walk.lowered is None or not isinstance(walk.captured, Captured):
        return []
    inferred = set(walk.captured.inferred)
    return [symbol.name for symbol in walk.lowered.symbols if inferred & set(symbol.sources)]
