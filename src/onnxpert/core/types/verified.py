"""What the proof found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from onnxpert.core.types.captured import BranchTaken
from onnxpert.core.types.findings import Location


class Verdict(StrEnum):
    """What one comparison came to."""

    PASS = "pass"
    FAIL = "fail"
    REFUSED = "refused"  # the user's own model does not take this input, so nothing is to be proven
    SKIPPED = "skipped"  # not tried: the model takes too long to be run as often as that


class Choice(StrEnum):
    """What torch promises nothing about, so that a library, or a runtime, chooses."""

    SIGN = "sign"  # of an eigenvector or a singular vector
    ORDER = "order"  # of equal elements
    ROUNDING = "rounding"  # whatever the last digits of two values decide


@dataclass(frozen=True, slots=True)
class Row:
    """One output at one set of inputs."""

    case: str  # "example", "batch=1", "other values", ...
    output: str
    sizes: Mapping[str, int]
    verdict: Verdict
    max_abs: float | None = None
    max_rel: float | None = None
    rtol: float | None = None
    atol: float | None = None
    detail: str = ""
    choices: tuple[Choice, ...] = ()  # it differs by these alone, which torch leaves open
    other_rank: bool = False  # the model's has another number of axes: no file follows it there
    other_dtype: bool = False  # nor to another dtype
    # Values that were searched for, by input, where the name of the case does not say how to make them.
    found: Mapping[str, Any] | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first node of the file whose value differs from the model's own."""

    node: str
    op_type: str
    value: str
    location: Location | None
    detail: str
    by_rounding: bool = False  # an order, among elements that only their last digits tell apart


@dataclass(frozen=True, slots=True)
class Caught:
    """An error that torch raises, after which the model goes on: no operator of a file does."""

    location: Location
    error: str


@dataclass(frozen=True, slots=True)
class Remembered:
    """Something that a call leaves to later ones, and by which they answer otherwise."""

    name: str  # of an attribute or a variable; "": not known
    location: Location | None
    exposed: bool  # although what the model remembers was to be inputs and outputs


class Chance(StrEnum):
    """What chance has to do with a model."""

    DRAWS = "draws"  # it only draws: plainly meant to be random
    MIXED = "mixed"  # it computes, and chance comes in


@dataclass(frozen=True, slots=True)
class Randomness:
    """How a model's results come to be random, and whether that is wanted."""

    kind: Chance
    allowed: bool
    location: Location | None = None
    unwritten: tuple[int, ...] = ()  # outputs that are memory which nobody wrote
    sided: bool = False  # drawn on a side of a branch, which the example need not take


@dataclass(frozen=True, slots=True)
class Verified:
    """The proof, or what stands in its way."""

    rows: tuple[Row, ...]
    divergence: Divergence | None = None
    caught: Caught | None = None  # in place of that
    nondeterministic: bool = False  # the user's own model gives two answers to one input
    stateful: bool = False  # ... because the first call changed the second
    unseeded: bool = False  # neither a seed nor what the model was brings an answer back
    runtime_error: str = ""  # the runtime refused the file
    location: Location | None = None
    made_equal: bool = False  # what stands there: in double precision the model tells it apart
    randomness: Randomness | None = None
    text: Location | None = None  # where the model writes a number of the data's in words
    branches: tuple[BranchTaken, ...] = ()
    refused_by: str = ""  # the target that did, where it stands in for another
    # How far its own roundings move the model, where they move it as far as the file is off; infinite
    # where they decide about a shape.
    sway: float | None = None

    @property
    def left_to_chance(self) -> bool:
        """Random, where nobody asked for that: there is nothing that another look could prove."""
        meant = self.randomness is not None and self.randomness.allowed
        return self.nondeterministic and not meant

    @property
    def drawn_apart(self) -> bool:
        """Whether the file is off since it draws other numbers than a model that is not known to be
        random: one with a seed of its own, or (`unseeded`) one that no second call can be asked of."""
        chance, found = self.randomness, self.divergence
        if chance is None or found is None or self.nondeterministic:
            return False
        at, drawn = found.location, chance.location
        at_draw = (
            at is not None and drawn is not None and (at.file, at.line) == (drawn.file, drawn.line)
        )
        return at_draw or found.op_type.startswith("Random")

    @property
    def proven(self) -> bool:
        compared = [row for row in self.rows if row.verdict in (Verdict.PASS, Verdict.FAIL)]
        return bool(compared) and all(row.verdict is Verdict.PASS for row in compared)
