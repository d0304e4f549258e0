"""The proof of a file, at all that its walk got to know: sizes that break an assumption, branches, chance."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from onnxpert.core.calls import calls
from onnxpert.core.types import Captured, CaptureFailed, Loaded, Lowered, Randomness, Verified
from onnxpert.engine.again import may_have_other_sides
from onnxpert.engine.chance import randomness
from onnxpert.engine.free_sizes.offers import is_doubtful, pairs
from onnxpert.engine.walk import Walk
from onnxpert.verify import choices, verify

_CHOOSING = ("eigh", "svd", "sort", "topk", "kthvalue", "median", "mode")
_UNCALLED = ("UnmadeWeightsError", "ObservingError")


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


def chance_in(walk: Walk, but: Collection[tuple[str, int]] = ()) -> Randomness | None:
    """Of a model that could not be captured, as much as was seen of it; `but` are lines of which
    something else is told."""
    found = walk.captured
    seen = found.scouted if isinstance(found, CaptureFailed) else found
    return None if seen is None else randomness(seen, walk.request.randomness == "allow", but)


def left_open(walk: Walk, loaded: Loaded) -> tuple[Verified, ...]:
    """What a proof would have said of signs and of the order of equals, had there been one."""
    found = walk.captured
    seen = found.scouted if isinstance(found, CaptureFailed) else found
    meant = walk.request.undetermined == "allow" or not walk.request.verify
    if seen is None or meant or is_untouched(found) or not _chooses(seen):
        return ()
    names = walk.lowered.outputs if walk.lowered is not None else seen.output_names
    return choices(loaded, names, seed=0)


def is_untouched(found: Captured | CaptureFailed | None) -> bool:
    """Whether there was a reason not to call the model even once: a call would make its weights."""
    return isinstance(found, CaptureFailed) and found.attempts[0][1].kind in _UNCALLED


def _chooses(captured: Captured) -> bool:
    called = {str(node.target) for node in calls(captured.root)}
    return any(word in name for name in called for word in _CHOOSING)


def _told_by_few(walk: Walk) -> list[str]:
    """The sizes whose loops were written down after a look at a few lengths."""
    if walk.lowered is None or not isinstance(walk.captured, Captured):
        return []
    inferred = set(walk.captured.inferred)
    return [symbol.name for symbol in walk.lowered.symbols if inferred & set(symbol.sources)]
