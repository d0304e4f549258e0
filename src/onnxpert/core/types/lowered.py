"""A model in ONNX, and what could not be said in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from onnxpert.core.types.captured import Guard, OpaqueBody
from onnxpert.core.types.findings import Location

if TYPE_CHECKING:
    import onnx_ir as ir


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A node for which there is no lowering: the walk went on with a stub."""

    op: str
    reason: str
    location: Location | None
    lowest_opset: int | None = None  # set when a higher opset would do
    opaque: OpaqueBody | None = None  # of a custom operator that was not followed
    broken: OpaqueBody | None = None  # how the user's own lowering of it failed
    symbolic: OpaqueBody | None = None  # why what was written for the old exporter is no help
    function: Any = None  # the autograd function it is a part of, where that has a `symbolic`
    follows: bool = False  # it is given what an operator made that has none either


@dataclass(frozen=True, slots=True)
class OlderForm:
    """A call that a later opset says with one operator, and the asked one with several."""

    op: str
    since: int  # the opset that has the operator
    location: Location | None


@dataclass(frozen=True, slots=True)
class Overridden:
    """An operator of torch's that a lowering of the user's says, though there is one here."""

    op: str
    by: str
    location: Location | None


@dataclass(frozen=True, slots=True)
class ForeignNode:
    """A node of a domain that no runtime knows by itself."""

    domain: str
    op_type: str
    location: Location | None


@dataclass(frozen=True, slots=True)
class Foreign:
    """The nodes that need kernels of their own, and what was said about those."""

    nodes: tuple[ForeignNode, ...]
    libraries: tuple[str, ...]
    verify: bool


@dataclass(frozen=True, slots=True)
class Valueless:
    """The nodes that a model asks for by name, and that torch has no values for."""

    nodes: tuple[ForeignNode, ...]
    verify: bool


class Source(StrEnum):
    """Who said a call in ONNX: the first of these that could."""

    USER = "user"  # a lowering or a domain of the user's
    OWN = "own"
    TORCHLIB = "torchlib"
    DECOMPOSITION = "decomposition"  # torch took it apart, and each part was asked for again
    SYMBOLIC = "symbolic"  # what somebody wrote for torch's old exporter


@dataclass(frozen=True, slots=True)
class Lowered:
    """The model as ONNX, and what could not be said in it."""

    model: ir.Model
    opset: int
    unsupported: tuple[Unsupported, ...] = ()
    symbols: tuple[Symbol, ...] = ()
    inputs: tuple[str, ...] = ()  # names of the graph inputs, in order
    outputs: tuple[str, ...] = ()
    locations: Mapping[str, Location] = field(default_factory=dict)  # value name -> source
    origins: Mapping[str, str] = field(default_factory=dict)  # value name -> captured node's name
    boundaries: tuple[Boundary, ...] = ()
    witnesses: tuple[Mapping[str, int], ...] = ()  # other sizes at which every assumption holds
    overridden: tuple[Overridden, ...] = ()
    older: tuple[OlderForm, ...] = ()
    sources: tuple[tuple[str, Source], ...] = ()  # who said each of the captured calls
    better_opset: int | None = None  # in which something is said in fewer bytes or runs quicker


@dataclass(frozen=True, slots=True)
class Symbol:
    """A dynamic size: its name in the file, the range the capture allows, where it is read."""

    name: str
    lower: int
    upper: int | None
    example: int
    sources: tuple[tuple[str, int], ...] = ()  # (input name, axis)
    bounded_at: Location | None = None  # the line of the model's that set an end of the range


@dataclass(frozen=True, slots=True)
class Boundary:
    """Sizes at which something that the capture assumed no longer holds."""

    sizes: Mapping[str, int]  # empty: there are too many to try them all, or none was found
    guard: Guard
    condition: Any = field(
        default=None, compare=False, repr=False
    )  # the guard over names, for sympy
    assumed: str = ""  # the same as the capture has it


@dataclass(frozen=True, slots=True)
class KeptWide:
    """A node that stays in float32, and what the narrower type would have cost there."""

    op_type: str
    loss: float  # of its largest value; infinite or NaN: it overflows
    location: Location | None
    reader: str = ""  # the operator that reads it and has that loss; "": itself


@dataclass(frozen=True, slots=True)
class Narrowed:
    """A model turned to another precision."""

    precision: str
    kept: tuple[KeptWide, ...]
    turned: int  # nodes


@dataclass(frozen=True, slots=True)
class Checked:
    """What the ONNX checker and shape inference say of a finished model."""

    problems: tuple[str, ...]
    location: Location | None = None  # of the first node that they name
