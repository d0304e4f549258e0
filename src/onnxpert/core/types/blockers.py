"""Why a capture failed, or would have."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from onnxpert.core.types.findings import Location


@dataclass(frozen=True, slots=True)
class Unwritten:
    """What kept the branches and loops of a model from being written down line by line."""

    text: str
    location: Location | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception of the model's, kept as evidence: what, where in the user's code, what torch said."""

    error: BaseException
    location: Location | None
    text: str  # the exception's own message, without torch's advice to its developers
    sizes: tuple[tuple[str, int], ...] = ()  # (input, axis) of the dynamic sizes it speaks of
    unwritten: Unwritten | None = None

    @property
    def kind(self) -> str:
        return type(self.error).__name__


class Asked(StrEnum):
    """What Python wanted of a tensor that a graph cannot give."""

    BRANCH = "branch"  # a truth value: if, and, or
    LOOP = "loop"  # ... for a while
    ASSERTION = "assertion"  # ... for an assert
    NUMBER = "number"  # an int or a float of Python's own: range(n), a list index
    NUMPY = "numpy"  # an array
    TEXT = "text"  # a number in words: str(n), f"{n}"
    CALL = "call"  # a call that cannot be followed
    DEVICE = "device"  # to be where it is not


@dataclass(frozen=True, slots=True)
class Blocker:
    """A place that no graph gets past; the scout answered from the example's values and went on."""

    asked: Asked
    text: str  # what torch said, or what was called
    location: Location | None
    needed: Location | None = None  # of a number: where it has to be one of Python's own
