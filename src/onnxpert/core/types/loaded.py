"""A model and its example inputs, ready to be captured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from onnxpert.core.types.findings import Location


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
    shown: int = 0  # how long a trace is shown it where the example has 1; 0: as short as it goes


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
    subject: str = ""  # the name of the class that is refused


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
class Window:
    """A size that is all that was seen, but `most` at the most: what `seen` has without the `new`."""

    leaf: str
    axis: int
    most: int
    seen: tuple[str, int]  # leaf and axis
    new: tuple[str, int] | None


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
    calibration: tuple[tuple[Any, ...], ...] = ()  # the same for what a quantiser measures
    # Operators ("my::op", or "my" for all of a namespace) and autograd functions (the class) that
    # the capture writes down as one call, because something is known of them as a whole.
    whole: frozenset[Any] = frozenset()
    # Leaves that are a Python float to the model and a tensor to the file; and those of which that
    # was tried in vain, so that they stay what they are in the example.
    numbers: Mapping[str, float] = field(default_factory=dict)
    constants: frozenset[str] = frozenset()
    floats: frozenset[str] = frozenset()  # Python floats that the user wants as inputs
    states: tuple[StateLeaf, ...] = ()  # of a model whose state was made inputs and outputs
    stateful: Any = None  # that model as it was, for calls in a row
    exposed: bool = False  # the user asked for that, whether there was a state to be found or not
    windows: tuple[Window, ...] = ()  # of caches: sizes that go with others
    unrolled: bool = False  # loops as the example runs them: rolled up, they were wrong
    keeps_nan: bool = False  # extremes see a NaN as torch does: the proof found one that matters
    thorough: bool = False  # both sides of what libraries ask about sizes, too
    doubted: frozenset[str] = frozenset()  # or only of these, which the proof found not to hold
    unannounced: bool = False  # libraries are not told of an export: told so, they went a wrong way
    as_written: bool = False  # branches and loops by the source: by their runs, they were wrong
    or_not: bool = (
        False  # not at all if they cannot be read there: otherwise it was captured before
    )
