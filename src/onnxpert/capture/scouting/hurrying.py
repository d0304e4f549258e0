"""A `while` that the data end is left after a few turns: they show what is in it."""

from __future__ import annotations

from collections import Counter

from onnxpert.core.statement import Statement, statement
from onnxpert.core.types import Location

_TURNS = 8


class HurriedError(BaseException):
    """Something failed behind a loop that was left before its time, which may be why.

    No `Exception`: it is none of the model's, which must not catch it."""


class Hurry:
    """Counts how often loops went on, and says when it is enough."""

    def __init__(self) -> None:
        self.patient = False  # whether they go on for as long as they say
        self.left = False  # whether one was left before its time
        self._turns: Counter[tuple[str, int]] = Counter()

    def leaves(self, place: Location) -> bool:
        """Whether a condition at a place that holds is the loop's end all the same."""
        if self.patient or statement(place) is not Statement.WHILE:
            return False
        line = place.file, place.line
        self._turns[line] += 1
        if self._turns[line] > _TURNS:
            self.left = True
        return self._turns[line] > _TURNS
