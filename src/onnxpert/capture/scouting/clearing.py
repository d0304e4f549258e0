"""What of all that a scout met is in the way by itself, and what only stands beside it.

A scout cannot tell whether a branch, a loop or a number would be in the file: it takes the example's
way. So the model is recorded once more, with branches and loops, while the lines that surely are in the
way are given the example's answers. What it stops at then is the next one, until it stops no more: the
rest is cleared."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.recorder import Recorder
from onnxpert.capture.settled import Line, Settled, Taken, TakesLongError
from onnxpert.capture.state import untouched
from onnxpert.capture.strategies.recorded import Walker
from onnxpert.capture.strategy import Strategy
from onnxpert.core.statement import refuses
from onnxpert.core.surrounding import is_decided_at
from onnxpert.core.types import Asked, Blocker, Captured, Failure, Loaded, Location

logger = logging.getLogger(__name__)
_SURE = frozenset({Asked.NUMPY})
_DOUBTFUL = frozenset({Asked.BRANCH, Asked.LOOP, Asked.ASSERTION, Asked.NUMBER})
_MOST_ROUNDS = 4
NAME = "recorder beside what is in the way"


class Sorted(NamedTuple):
    """What is in the way by itself, each with what it fails for, and the lines that are not."""

    behind: tuple[tuple[Blocker, Failure], ...] = ()
    cleared: frozenset[Line] = frozenset()


def sort_out(
    loaded: Loaded,
    blockers: Sequence[Blocker],
    first: Failure,
    run: Callable[[Strategy, Loaded], Captured],
    told: Callable[[Exception], Failure],
) -> Sorted:
    doubtful = [one for one in blockers if one.asked in _DOUBTFUL]
    known = [one for one in blockers if one.asked in _SURE]
    if not doubtful or len(doubtful) + len(known) < len(blockers) or len(blockers) < 2:
        return Sorted()
    taken = Taken()
    with untouched(owner(loaded.module), buffers=True), taken:
        Flat(loaded)(*fed_copies(loaded))
    behind: list[tuple[Blocker, Failure]] = []
    if not known:
        known = _culprits(first, doubtful, ())
        behind += [(one, first) for one in known]
    for _ in range(_MOST_ROUNDS):
        if not known or len(known) == len(blockers):
            break
        settled = Settled(taken, frozenset(_lines(known)))
        try:
            found = run(_beside(settled), loaded)
        except Exception as error:  # the evidence that is looked for
            failure = told(error)
            logger.debug("behind it: %s", failure)
            new = _culprits(failure, [one for one in doubtful if one not in known], known)
            behind += [(one, failure) for one in new]
            known = [*known, *new] if new else []
        except TakesLongError:
            break
        else:
            free = settled.asked | _lines_of(found)
            guilty = {line for one in known for line in _places(one)}
            cleared = {line for one in doubtful for line in _places(one) if line in free}
            return Sorted(tuple(behind), frozenset(cleared - guilty))
    return Sorted(tuple(behind))


def _beside(settled: Settled) -> Strategy:
    @contextmanager
    def around(_: Recorder) -> Iterator[None]:
        with settled.giving():
            yield

    def captured(loaded: Loaded) -> Captured:
        return Walker(NAME, around).captured(loaded)

    return Strategy(NAME, 0, captured)


def _culprits(
    failure: Failure, doubtful: Sequence[Blocker], known: Sequence[Blocker]
) -> list[Blocker]:
    """What a failure is about: the line that could not be written down, or where it was raised. A
    number that Python needs is more than a branch, which either way of recording may know better."""
    if failure.kind == "AssertionError":
        return []  # which is what an assertion is for
    reason = failure.unwritten.location if failure.unwritten is not None else None
    free = [one for one in doubtful if not _is_check(one)]
    free = [one for one in free if not _leads_to_any(one, (*doubtful, *known))]
    met = [
        [one for one in free if place is not None and _line(place) in _places(one)]
        for place in (reason, failure.location)
    ]
    numbers = ([one for one in found if one.asked is Asked.NUMBER] for found in met)
    return next(filter(None, (*numbers, *met)), [])


def _is_check(one: Blocker) -> bool:
    """Whether a branch only raises, which is none of the file's."""
    at = one.location if one.asked is Asked.BRANCH else None
    return at is not None and bool(refuses(at))


def _leads_to_any(one: Blocker, others: Sequence[Blocker]) -> bool:
    """Whether it is a branch with a number on one of its sides that is in the way itself."""
    if one.asked is Asked.NUMBER:
        return False
    numbers = [other for other in others if other.asked is Asked.NUMBER]
    return any(is_decided_at(other.location, one.location) for other in numbers)


def _places(one: Blocker) -> list[Line]:
    return [_line(place) for place in (one.location, one.needed) if place is not None]


def _line(place: Location) -> Line:
    return place.file, place.line


def _lines(known: Sequence[Blocker]) -> Iterator[Line]:
    for one in known:
        yield from _places(one)


def _lines_of(found: Captured) -> set[Line]:
    """Those of which the graph has what they ask."""
    places = [
        *(branch.location for branch in found.branches),
        *(read.location for read in found.reads),
    ]
    return {_line(place) for place in places if place is not None}
