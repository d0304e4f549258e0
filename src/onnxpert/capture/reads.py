"""Where Python took a value out of a tensor: each line once, with what it was taken for."""

from __future__ import annotations

from collections.abc import Iterable

from onnxpert.core.statement import Statement, statement
from onnxpert.core.types import Asked, Location, Read

_ASKED = {
    Statement.IF: Asked.BRANCH,
    Statement.WHILE: Asked.LOOP,
    Statement.ASSERT: Asked.ASSERTION,
}


def condition(place: Location | None) -> Asked | None:
    """What a condition at a place decides; None where there is none."""
    kind = statement(place) if place is not None else None
    return _ASKED[kind] if kind is not None else None


def conditions_at(places: Iterable[Location | None]) -> tuple[Read, ...]:
    """Truth values: where no statement asks for one (`sorted`, `max`), it decides all the same."""
    known = dict.fromkeys(places)
    return tuple(Read(condition(place) or Asked.BRANCH, place) for place in known)


def numbers_at(places: Iterable[Location | None]) -> tuple[Read, ...]:
    """Numbers; the one that a condition is about is part of the condition."""
    known = dict.fromkeys(places)
    return tuple(Read(condition(place) or Asked.NUMBER, place) for place in known)
