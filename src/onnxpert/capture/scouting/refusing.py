"""Checks of the data, `if ...: raise`, in a model that only a scout got through: read off the source."""

from __future__ import annotations

from collections.abc import Sequence

from onnxpert.core.statement import refuses
from onnxpert.core.types import Asked, Blocker, Captured, Precondition, Sight, replace


def with_refusals(captured: Captured, blockers: Sequence[Blocker]) -> Captured:
    """The capture, and the conditions for which the model raises: a scout met their other side alone."""
    asked = [one.location for one in blockers if one.asked is Asked.BRANCH]
    asked += [one.location for one in captured.reads if one.asked is Asked.BRANCH]
    asked += [one.location for one in captured.seen if one.sight is Sight.QUESTION]
    found: dict[tuple[str, int], Precondition] = {}
    for place in asked:
        side = refuses(place) if place is not None else None
        if place is not None and side is not None:
            found[place.file, place.line] = Precondition(not side.when, side.raises, place, place)
    added = (*captured.preconditions, *found.values())
    return replace(captured, preconditions=added)  # type: ignore[no-any-return]
