"""The values that travel from stage to stage: frozen, plain, and free of torch at import time."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import onnx_ir as ir

# What torch leaves untyped (example inputs, outputs, pytrees), behind one name.
Tree: TypeAlias = Any


class Severity(StrEnum):
    """How bad a finding is: an error means no proven file."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Safety(StrEnum):
    """What a repair may change: nothing, something (asks consent), or it is only ever printed."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's own source, and the module path that was running it."""

    file: str
    line: int
    module: str = ""
    function: str = ""
    code: str = ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f" in {self.module}" if self.module else "")


@dataclass(frozen=True, slots=True)
class Hit:
    """What a rule yields: the finding without what the catalogue already knows."""

    message: str
    at: Location | None = None
    help: str = ""
    notes: tuple[str, ...] = ()
    severity: Severity | None = None  # None: the rule's own


@dataclass(frozen=True, slots=True)
class Finding:
    """One reason, at one place, with its cure."""

    rule: str
    severity: Severity
    message: str
    location: Location | None = None
    help: str = ""
    notes: tuple[str, ...] = ()
    repaired: bool = False
    repair: str = ""  # the name of the repair that cured it
    count: int = 1  # how many places said the same; `location` is the first

    @property
    def blocks(self) -> bool:
        return self.severity is Severity.ERROR and not self.repaired


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, as it was asked."""

    model: Any
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None
    input_names: tuple[str, ...] = ()
    output_names: tuple[str, ...] = ()
    opset_version: int | None = None
    dynamic_axes: Tree = None
    dynamic_shapes: Tree = None
    target: str = "ort-cpu"
    repair: str = "safe"  # off | safe | all
    verify: bool = True
    external_data: bool = False  # weights beside the file even when they would fit inside


@dataclass(frozen=True, slots=True)
class DimSpec:
    """A dimension that was asked to vary: the name it shall carry and the sizes it may take.

    `scale * root + offset` where the user tied it to another dimension (`2 * batch`)."""

    name: str = ""  # "": nobody named it; `lower` finds a good one
    lower: int | None = None
    upper: int | None = None
    scale: int = 1
    offset: int = 0
    asked: bool = (
        True  # False: "auto" offered it, so a frozen one is information, not a broken wish
    )


@dataclass(frozen=True, slots=True)
class InputLeaf:
    """One leaf of the flattened inputs: a tensor, a number, a string or None."""

    name: str
    value: Any
    path: str  # how the user reaches it: `batch["ids"]`, `xs[0]`
    dims: tuple[tuple[int, DimSpec], ...] = ()  # of a tensor: axis -> what was asked
    scalar: DimSpec | None = None  # of a Python int that was asked to vary


@dataclass(frozen=True, slots=True)
class SpecProblem:
    """A part of the request that does not fit the model: kind, what was seen, what would fit."""

    kind: str  # "unknown-input" | "bad-axis" | "bad-structure" | "bad-names" | ...
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model ready to be captured: unwrapped, in its mode, with its inputs flattened and named."""

    module: Any  # nn.Module, ScriptModule, ExportedProgram or a callable, wrappers taken off
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    leaves: tuple[InputLeaf, ...]
    rebuild: Any  # Callable[[Sequence[leaf]], (args, kwargs)]: undoes the flattening
    unwrapped: tuple[str, ...] = ()  # names of the wrappers that were taken off
    training: bool = False
    problems: tuple[SpecProblem, ...] = ()
    casts: Mapping[str, str] = field(default_factory=dict)  # leaf name -> dtype it is cast to first
    source: Location | None = None  # where the model's forward is written


class InputKind(StrEnum):
    """Where the value of a graph input comes from."""

    USER = "user"
    PARAMETER = "parameter"
    BUFFER = "buffer"
    CONSTANT = "constant"


@dataclass(frozen=True, slots=True)
class GraphInput:
    """A placeholder of the captured graph: a leaf of the user's, or a tensor of the model's."""

    kind: InputKind
    name: str  # a leaf's name, or what the state dict calls it
    tensor: Any = None  # the parameter, buffer or constant itself


@dataclass(frozen=True, slots=True)
class Guard:
    """What the capture assumed about sizes, and the line that made it."""

    expr: str
    symbols: tuple[str, ...]
    location: Location | None


@dataclass(frozen=True, slots=True)
class Captured:
    """The model as a graph of ATen calls."""

    root: Any  # a module with `.graph`: an fx.GraphModule, or only the graph
    inputs: tuple[GraphInput, ...]  # one per placeholder, in order
    strategy: str
    guards: tuple[Guard, ...] = ()
    output_names: tuple[str, ...] = ()  # one per leaf of the output: `logits`, `hidden_0`
    loaded: Loaded | None = None
    written: tuple[str, ...] = ()  # attributes that forward assigned


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception of the model's, kept as evidence: what, where in the user's code, what torch said."""

    error: BaseException
    location: Location | None
    text: str  # the exception's own message, without torch's advice to its developers

    @property
    def kind(self) -> str:
        return type(self.error).__name__


@dataclass(frozen=True, slots=True)
class CaptureFailed:
    """No strategy got the model through; `eager` is set when the model itself refuses the input."""

    loaded: Loaded
    attempts: tuple[tuple[str, Failure], ...]  # strategy -> how it failed
    eager: Failure | None = None
    casts: Mapping[str, str] = field(default_factory=dict)  # leaf -> dtype with which it does run
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # leaf -> smallest that runs


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A node for which there is no lowering: the walk went on with a stub."""

    op: str
    reason: str
    location: Location | None
    lowest_opset: int | None = None  # set when a higher opset would do


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


@dataclass(frozen=True, slots=True)
class Symbol:
    """A dynamic size: its name in the file, the range the capture allows, where it is read."""

    name: str
    lower: int
    upper: int | None
    example: int
    sources: tuple[tuple[str, int], ...] = ()  # (input name, axis)


@dataclass(frozen=True, slots=True)
class Boundary:
    """Sizes at which something that the capture assumed no longer holds."""

    sizes: Mapping[str, int]
    guard: Guard


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
class Bounded:
    """A dynamic size that the proven file takes only within a range."""

    symbol: Symbol
    location: Location | None


@dataclass(frozen=True, slots=True)
class Saved:
    """Files on disk, not yet at their final place unless `published`."""

    path: Path
    files: tuple[Path, ...]
    bytes: int
    sha256: str


class Verdict(StrEnum):
    """What one comparison came to."""

    PASS = "pass"
    FAIL = "fail"
    REFUSED = "refused"  # the user's own model does not take this input, so nothing is to be proven


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


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first node of the file whose value differs from the model's own."""

    node: str
    op_type: str
    value: str
    location: Location | None
    detail: str


@dataclass(frozen=True, slots=True)
class Verified:
    """The proof, or what stands in its way."""

    rows: tuple[Row, ...]
    divergence: Divergence | None = None
    nondeterministic: bool = False  # the user's own model gives two answers to one input
    stateful: bool = False  # ... because the first call changed the second
    runtime_error: str = ""  # the runtime refused the file
    location: Location | None = None

    @property
    def proven(self) -> bool:
        compared = [row for row in self.rows if row.verdict is not Verdict.REFUSED]
        return bool(compared) and all(row.verdict is Verdict.PASS for row in compared)


def replace(value: Any, **changes: Any) -> Any:
    """`dataclasses.replace`, untyped on purpose: a frozen value with some fields changed."""
    return dataclasses.replace(value, **changes)


@dataclass(frozen=True, slots=True)
class Plan:
    """The versions an export will be written for, before anything is captured."""

    opset: int
    ir_version: int
    asked: int | None  # the opset that was asked for, if any
    target: str
    lowest: int  # opset the target's lowerings reach down to
    highest: int  # opset the installed runtime takes


@dataclass(frozen=True, slots=True)
class Checked:
    """What the ONNX checker and shape inference say of a finished model."""

    problems: tuple[str, ...]
