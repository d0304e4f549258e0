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
    column: int = 0  # of the expression, counted from 1 as editors do; 0: unknown
    end_column: int = 0  # one past its last character, on the same line
    # The calls in the user's own code that led here, outermost first; a finding has them as `stack`.
    calls: tuple[Location, ...] = field(default=(), compare=False, repr=False)

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
    modules: tuple[str, ...] = ()  # module paths of all those places
    stack: tuple[Location, ...] = ()  # calls within the user's code, outermost first
    diff: str = ""  # unified diff of the user's own file that cures it

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
    examples: tuple[tuple[tuple[Any, ...], Mapping[str, Any]], ...] = ()  # beside args and kwargs
    target: str = "ort-cpu"
    repair: str = "safe"  # off | safe | all
    verify: bool = True
    plugins: tuple[Any, ...] = ()  # lowerings of the user's, or what holds them
    custom_domains: Mapping[str, str] = field(default_factory=dict)  # "my" -> "com.example"
    kernel_library: tuple[str, ...] = ()  # of custom operators, for the proof to run with
    external_data: bool = False  # weights beside the file even when they would fit inside
    precision: str = ""  # float32 | float16 | bfloat16; "": the model's own
    randomness: str = "refuse"  # refuse | allow: results that mix computing and chance
    state: str = "refuse"  # refuse | io: what forward changes becomes inputs and outputs
    repro: Path | None = None  # a folder for scripts that show what blocks
    runtime_version: str = ""  # release of ONNX Runtime that the file is for; "": the installed
    timeout: float | None = None  # seconds, for all of it
    max_memory: int | None = None  # bytes


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
    partial: bool = False  # of a tensor: a view, with more in its memory than it shows


@dataclass(frozen=True, slots=True)
class SpecProblem:
    """A part of the request that does not fit the model: kind, what was seen, what would fit."""

    kind: str  # "unknown-input" | "bad-axis" | "bad-structure" | "bad-names" | ...
    message: str
    help: str


@dataclass(frozen=True, slots=True)
class StateLeaf:
    """Something that a model remembers between calls, as an input and an output of the file."""

    input: str
    output: str
    dtype: str = "float32"
    shape: tuple[int | str, ...] = ()  # before the first call; sizes that vary by their names
    initial: bytes | None = None  # what it is then; None: zeros
    is_argument: bool = False  # an input of the model's own, which it changes: the caller gives it


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
    examples: tuple[tuple[Any, ...], ...] = ()  # further ones, each as the values of all leaves
    # Operators ("my::op", or "my" for all of a namespace) and autograd functions (the class) that
    # the capture writes down as one call, because something is known of them as a whole.
    whole: frozenset[Any] = frozenset()
    # Leaves that are a Python float to the model and a tensor to the file; and those of which that
    # was tried in vain, so that they stay what they are in the example.
    numbers: Mapping[str, float] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    states: tuple[StateLeaf, ...] = ()  # of a model whose state was made inputs and outputs
    stateful: Any = None  # that model as it was, for calls in a row
    thorough: bool = False  # both sides of what libraries ask about sizes, too


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
class Branch:
    """A branch of Python's that the file decides at run time."""

    condition: str
    location: Location | None
    about_data: bool  # else about sizes


@dataclass(frozen=True, slots=True)
class BranchTaken:
    """Which sides of a branch the inputs of a proof took."""

    branch: Branch
    yes: bool
    no: bool


@dataclass(frozen=True, slots=True)
class Precondition:
    """A condition for which the model raises instead of computing: the file does not check it."""

    holds: bool  # which answer to the condition the file takes for granted
    raises: str  # what the model raises otherwise
    location: Location | None  # of the condition
    raised: Location | None  # of what raises


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
    placeholders: tuple[Placeholder, ...] = ()
    done: tuple[Done, ...] = ()  # what forward did beside computing
    dropped: tuple[
        tuple[str, str], ...
    ] = ()  # outputs that are no tensors: name, and of which class
    detours: tuple[Blocker, ...] = ()  # what one strategy could not follow and this one could
    branches: tuple[Branch, ...] = ()  # in the order of the run, outer ones first
    preconditions: tuple[Precondition, ...] = ()
    left_open: bool = False  # a library asked about sizes, and only the example's side is here
    plain: Captured | None = None  # the same for the example's side of every question about sizes


class Deed(StrEnum):
    """Things that a forward does beside computing; none of them is in a graph."""

    PRINT = "print"
    CHANCE = "chance"  # a random number of Python's or NumPy's
    CLOCK = "clock"
    ENVIRONMENT = "environment"  # a variable of the process
    FILE = "file"
    ATTRIBUTE = "attribute"  # assigns one, or changes the list or dictionary in it
    GLOBAL = "global"  # the same to a variable of the Python module
    QUESTION = "question"  # asks whether it is being exported


@dataclass(frozen=True, slots=True)
class Done:
    """One such thing, and where."""

    deed: Deed
    what: str  # the function that was called, the name that was written
    location: Location | None


@dataclass(frozen=True, slots=True)
class Placeholder:
    """An autograd function that computes nothing, for its `symbolic` is said to."""

    function: str
    location: Location | None


@dataclass(frozen=True, slots=True)
class OpaqueBody:
    """Why the body of a custom operator or function could not be followed, and where."""

    reason: str
    location: Location | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An exception of the model's, kept as evidence: what, where in the user's code, what torch said."""

    error: BaseException
    location: Location | None
    text: str  # the exception's own message, without torch's advice to its developers
    sizes: tuple[tuple[str, int], ...] = ()  # (input, axis) of the dynamic sizes it speaks of

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
    CALL = "call"  # a call that cannot be followed


@dataclass(frozen=True, slots=True)
class Blocker:
    """A place that no graph gets past; the scout answered from the example's values and went on."""

    asked: Asked
    text: str  # what torch said, or what was called
    location: Location | None


@dataclass(frozen=True, slots=True)
class CaptureFailed:
    """No strategy got the model through; `eager` is set when the model itself refuses the input."""

    loaded: Loaded
    attempts: tuple[tuple[str, Failure], ...]  # strategy -> how it failed
    eager: Failure | None = None
    casts: Mapping[str, str] = field(default_factory=dict)  # leaf -> dtype with which it does run
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # leaf -> smallest that runs
    blockers: tuple[Blocker, ...] = ()  # everything in the way, in the order of the run
    scouted: Captured | None = None  # the graph with those places stood in for; never exported


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
    sources: tuple[tuple[str, Source], ...] = ()  # who said each of the captured calls


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

    sizes: Mapping[str, int]  # empty: there are too many to try them all, or none was found
    guard: Guard
    condition: Any = field(
        default=None, compare=False, repr=False
    )  # the guard over names, for sympy


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
    signs: bool = False  # it fails by the signs of vectors only, which no mathematics decides


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first node of the file whose value differs from the model's own."""

    node: str
    op_type: str
    value: str
    location: Location | None
    detail: str


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


@dataclass(frozen=True, slots=True)
class Verified:
    """The proof, or what stands in its way."""

    rows: tuple[Row, ...]
    divergence: Divergence | None = None
    nondeterministic: bool = False  # the user's own model gives two answers to one input
    stateful: bool = False  # ... because the first call changed the second
    runtime_error: str = ""  # the runtime refused the file
    location: Location | None = None
    randomness: Randomness | None = None
    branches: tuple[BranchTaken, ...] = ()

    @property
    def proven(self) -> bool:
        compared = [row for row in self.rows if row.verdict is not Verdict.REFUSED]
        return bool(compared) and all(row.verdict is Verdict.PASS for row in compared)


def replace(value: Any, /, **changes: Any) -> Any:
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
class Misfit:
    """Installed packages that exclude each other, by their own metadata."""

    message: str
    cure: str  # a command
    needed: bool  # about what an export needs


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


class Stop(StrEnum):
    """Why a child process did not come to its end."""

    TIME = "time"
    MEMORY = "memory"
    KILLED = "killed"  # from outside: most often by a system that is out of memory
    CRASH = "crash"  # a segmentation fault, an abort


@dataclass(frozen=True, slots=True)
class Stopped:
    """A walk that was ended, or died, and where it was then."""

    why: Stop
    limit: str  # what it went beyond (`60 s`, `8 GiB`), or the signal it died of
    stage: str
    module: str  # path of the module that ran, "" outside of all
    location: Location | None


@dataclass(frozen=True, slots=True)
class Checked:
    """What the ONNX checker and shape inference say of a finished model."""

    problems: tuple[str, ...]
