"""What became of sizes that were to vary."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onnxpert.core.types.findings import Location
from onnxpert.core.types.lowered import Boundary, Symbol
from onnxpert.core.types.verified import Row


@dataclass(frozen=True, slots=True)
class Crossed:
    """Beyond a boundary the model runs and the file does not follow it."""

    boundary: Boundary
    row: Row
    condition: str  # the guard with the names of the file's dimensions


@dataclass(frozen=True, slots=True)
class Tied:
    """Two sizes that nobody named and that the file needs to be equal."""

    first: Symbol
    second: Symbol
    row: Row  # the proof that they cannot differ


@dataclass(frozen=True, slots=True)
class Merged:
    """Two dimensions that have a name each with the user and that are one size in the file."""

    names: tuple[str, str]  # with the user
    kept: str  # with the file
    sizes: Mapping[str, int]  # at which the model was called with one unlike the other
    refusal: str  # what it said then; empty: it runs
    location: Location | None = None  # the line that made them one
    assumed: str = ""  # the same as the capture has it


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """Dimensions that nobody asked for by name and that are not offered any more, or from 2 on."""

    dims: tuple[tuple[str, int, int], ...]  # input, axis, its size in the example
    reason: str
    location: Location | None = None
    lower: int | None = None  # set: still dynamic, from this size on


@dataclass(frozen=True, slots=True)
class Bounded:
    """A dynamic size that the proven file takes only within a range."""

    symbol: Symbol
    location: Location | None
    offered: bool = False  # it is the file that ends there, and nobody asked for more
    narrow: bool = False  # it is the file that ends there, and more was asked for


@dataclass(frozen=True, slots=True)
class Related:
    """Sizes that were asked for and that an equation of the model's leaves no room."""

    names: tuple[str, ...]
    condition: str  # `h * w == 196`
    location: Location | None
    refused: bool = False  # the model was seen to refuse other sizes
