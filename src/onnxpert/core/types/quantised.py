"""What quantising a file cost, and what it saved."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from onnxpert.core.types.findings import Location


class Kept(StrEnum):
    """Why a layer still computes in float32 in a quantised file."""

    ASKED = "asked"
    HURTS = "hurts"  # alone it is further off than the whole file may be
    NO_FORM = "no form"  # the scheme has nothing for its operator


@dataclass(frozen=True, slots=True)
class QuantisedLayer:
    """A node with weights in a file that was quantised; errors are shares of the norm."""

    name: str  # path of the module, or the node's name
    op_type: str
    own: float | None  # of what it gives when it alone is quantised
    there: float | None = None  # the same with all before it quantised, too
    kept: Kept | None = None  # None: it is quantised
    location: Location | None = None


@dataclass(frozen=True, slots=True)
class Accuracy:
    """One output at one set of inputs, before and after quantising, each against the model.

    Errors are shares of the output's norm; of whole numbers, the share that differs."""

    case: str
    output: str
    sizes: Mapping[str, int]
    before: float | None
    after: float | None
    max_abs: float | None = None
    sqnr: float | None = None  # decibels
    cosine: float | None = None
    given: bool = True  # by the user: these are held against the bound
    problem: str = ""  # what the runtime said, or how the form of the output differs


@dataclass(frozen=True, slots=True)
class Quantised:
    """A float file turned to whole numbers, and what that cost."""

    scheme: str
    bound: float  # the largest error allowed
    layers: tuple[QuantisedLayer, ...]
    rows: tuple[Accuracy, ...] = ()
    bytes_before: int = 0
    bytes_after: int = 0
    calibration: int = 0  # inputs that were measured
    calibration_given: bool = True  # else the example and others made of it
    problem: str = ""  # the runtime refused the file

    @property
    def error(self) -> float:
        """The largest at the inputs that the user gave; NaN counts as infinite."""
        found = [row.after for row in self.rows if row.given and row.after is not None]
        return max((math.inf if math.isnan(each) else each for each in found), default=0.0)
