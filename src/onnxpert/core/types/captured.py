"""A model as a graph of ATen calls and what was noticed while it ran; or what a failed capture leaves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from onnxpert.core.types.blockers import Asked, Blocker, Failure
from onnxpert.core.types.findings import Location
from onnxpert.core.types.loaded import Loaded


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
    stands_in: bool = False  # for what a look could not follow: the inputs may decide about it


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
    called: bool = False  # whether a library asks, which is called at the place


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
    condition: Any = field(
        default=None, compare=False, repr=False
    )  # of sizes, for sympy: what holds on every way through the model


@dataclass(frozen=True, slots=True)
class Read:
    """A value that Python took out of a tensor: a number, or the answer to a condition."""

    asked: Asked
    location: Location | None


class Sight(StrEnum):
    """What a line of the user's was seen to do when the model ran as the user runs it."""

    WRITE = "write"  # to a weight, a buffer or an input, in place
    SIZE = "size"  # make a tensor as large as the data say
    OPERATOR = "operator"  # call an operator of their own
    RARE = "rare"  # call one of torch's that its own exporter has no lowering for
    DRAW = "draw"  # draw random numbers
    QUESTION = "question"  # decide by a size that varies, or that the data decide
    MASKED = "masked"  # attend where a mask leaves nothing to attend to
    GRADIENT = "gradient"  # have torch differentiate
    REFUSAL = "refusal"  # raise when a size is another: `input.axis`
    MEETING = "meeting"  # bring together such a size and one that is a number elsewhere
    OBJECT = "object"  # take or give an object of a class that torch knows nothing of
    RETURN = "return"  # give what the model gives


@dataclass(frozen=True, slots=True)
class Sighting:
    """One such line."""

    sight: Sight
    name: str  # of what was written, or of the operator
    location: Location
    owner: InputKind | None = None  # what was written to


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call of the model itself gave, the floating dtypes in which it computed, and how much."""

    outputs: tuple[Any, ...]
    formats: frozenset[Any]
    effort: float = 0.0  # seconds of a usual processor, as its calls tell


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
    overcome: tuple[Blocker, ...] = ()  # what one strategy could not follow and this one could
    branches: tuple[Branch, ...] = ()  # in the order of the run, outer ones first
    preconditions: tuple[Precondition, ...] = ()
    # Sizes (input, axis) whose loops were told by a few lengths: longer ones are to be looked at.
    inferred: tuple[tuple[str, int], ...] = ()
    cut_short: bool = False  # a scout's, which got no further: no outputs
    announced: bool = False  # a library asked whether it is being exported, and was told so
    left_open: bool = False  # a library asked about sizes, and only the example's side is here
    # Lines (file, number) that draw random numbers in evaluation mode too; of a model in training.
    lasting_chance: frozenset[tuple[str, int]] = frozenset()
    reads: tuple[Read, ...] = ()  # of values that the file computes all the same
    plain: Captured | None = None  # the same for the example's side of every question about sizes
    seen: tuple[Sighting, ...] = ()  # what a call of the model itself did, line by line
    # To the example, where that call was seen to do nothing but compute.
    answer: Answer | None = field(default=None, compare=False, repr=False)


class Deed(StrEnum):
    """Things that a forward does beside computing; none of them is in a graph."""

    PRINT = "print"
    CHANCE = "chance"  # a random number of Python's or NumPy's
    CLOCK = "clock"
    ENVIRONMENT = "environment"  # a variable of the process
    FILE = "file"
    OUTSIDE = "outside"  # another process, or another machine
    ATTRIBUTE = "attribute"  # assigns one, or changes the list or dictionary in it
    GLOBAL = "global"  # the same to a variable of the Python module
    QUESTION = "question"  # asks whether it is being exported


@dataclass(frozen=True, slots=True)
class Done:
    """One such thing, and where."""

    deed: Deed
    what: str  # the function that was called, the name that was written
    location: Location | None
    guessed: bool = False  # read from the source: nobody saw it happen there
    handed_on: bool = False  # of an attribute: each call writes it, and reads it after that
    cached: bool = False  # ... made of sizes alone, and kept


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
class CaptureFailed:
    """No strategy got the model through; `eager` is set when the model itself refuses the input."""

    loaded: Loaded
    attempts: tuple[tuple[str, Failure], ...]  # strategy -> how it failed
    eager: Failure | None = None
    casts: Mapping[str, str] = field(default_factory=dict)  # leaf -> dtype with which it does run
    sizes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)  # leaf -> smallest that runs
    blockers: tuple[Blocker, ...] = ()  # everything in the way, in the order of the run
    scouted: Captured | None = None  # the graph with those places stood in for; never exported
    sides: tuple[
        Captured, ...
    ] = ()  # the same with a branch taken the other way than the example's
    behind: tuple[
        tuple[Blocker, Failure], ...
    ] = ()  # what is in the way by itself, and how it fails
    # Lines (file, number) of blockers that a file could have, were it not for the others.
    cleared: frozenset[tuple[str, int]] = frozenset()
    further: tuple[
        Failure, ...
    ] = ()  # what the model raises behind `eager`, where that is let through
