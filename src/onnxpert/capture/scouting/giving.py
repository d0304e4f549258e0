"""Numbers that a body cannot go on with as symbols: the model is looked at once more, and is given them.

A library that keeps them in a set of its own, or computes with them in NumPy, raises on a symbol. With
plain numbers it goes on, and so does the look: all that follows is met by the scout itself."""

from __future__ import annotations

from dataclasses import dataclass

from onnxpert.core.types import Asked, Blocker, Location

_MOST = 6  # lines of one model: each is a run


class GivenUpError(BaseException):
    """A line was found whose numbers have to be plain ones.

    No `Exception`: it is none of the model's, which must not catch it."""


@dataclass(frozen=True, slots=True)
class _Taken:
    text: str
    at: Location
    needed: Location | None


class Given:
    """The lines that take numbers out of tensors which have to be Python's own at once."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, int], _Taken] = {}

    def adds(self, text: str, at: Location | None, needed: Location | None) -> bool:
        """Whether a line is new, so that it is worth another look."""
        if at is None or (at.file, at.line) in self._lines or len(self._lines) >= _MOST:
            return False
        self._lines[at.file, at.line] = _Taken(text, at, needed)
        return True

    def has(self, place: Location | None) -> bool:
        """Whether the numbers that a line takes are plain ones."""
        return place is not None and (place.file, place.line) in self._lines

    def blocker(self, place: Location | None, *, listed: bool) -> Blocker | None:
        """What is to be said of a number that is taken at a place, if it is one of those."""
        if place is None or not self.has(place):
            return None
        taken = self._lines[place.file, place.line]
        return Blocker(Asked.NUMPY if listed else Asked.NUMBER, taken.text, taken.at, taken.needed)
