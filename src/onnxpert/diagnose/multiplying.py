"""Where the branches of a model multiply: told there, and not once more as a branch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from onnxpert.core.types import Asked, Blocker, CaptureFailed, Location


class Multiplying(NamedTuple):
    at: Location | None  # that is asked most often
    counts: tuple[tuple[Location, int], ...]  # in how many of the paths each is asked


def multiplying(failed: CaptureFailed) -> Iterator[Multiplying]:
    for _, failure in failed.attempts:
        if failure.kind != "TooManyPathsError":
            continue
        places = getattr(failure.error, "places", ())
        if not places and failed.blockers:
            continue  # no path came to its end: what is in the way of that is said by itself
        if places and any(_wants_a_value(one, places[0][0]) for one in failed.blockers):
            continue  # which is said by itself
        yield Multiplying(places[0][0] if places else None, tuple(places))


def multiplies_at(failed: CaptureFailed, place: Location | None) -> bool:
    return place is not None and any(_is_same(found.at, place) for found in multiplying(failed))


def _wants_a_value(blocker: Blocker, place: Location) -> bool:
    is_there = any(_is_same(each, place) for each in (blocker.location, blocker.needed))
    return is_there and blocker.asked in (Asked.NUMBER, Asked.NUMPY, Asked.CALL, Asked.LOOP)


def _is_same(one: Location | None, other: Location) -> bool:
    return one is not None and (one.file, one.line) == (other.file, other.line)
