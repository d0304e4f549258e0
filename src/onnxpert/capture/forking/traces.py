"""One run of a model as plain values: its calls, the questions between them, and how it ended.

Sizes are bare expressions here, free of the shape environment of their run, so that several runs can
be held against each other; runs that begin alike share the calls they began with."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import fx

from onnxpert.capture.forking.questions import Question
from onnxpert.capture.recorder import Recorder
from onnxpert.core.storages import storage, written
from onnxpert.core.types import GraphInput, InputKind

Expr: TypeAlias = Any  # sympy.Expr
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_SMALL = 4096  # elements of a constant that are compared one by one


class UnlikeError(RuntimeError):
    """Two runs with the same answers that did not do the same."""


@dataclass(frozen=True, slots=True)
class Look:
    """A tensor as far as a graph knows it."""

    dtype: torch.dtype
    sizes: tuple[Expr, ...]
    strides: tuple[Expr, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Number:
    """A number that is computed from sizes and data."""

    kind: type  # torch.SymInt, SymFloat or SymBool
    expr: Expr


@dataclass(eq=False, slots=True)
class Step:
    """A call, or with `entry` an input; it is itself, whatever else looks like it."""

    target: Any
    args: tuple[Any, ...] = ()  # Steps, Numbers and constants, nested as they were
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    out: Any = None  # Look, Number, a constant, or a sequence of those
    meta: Mapping[str, Any] = field(default_factory=dict)  # frames, module, ...
    name: str = ""
    entry: GraphInput | None = None
    base: Step | None = None  # the first tensor in the memory that this one is in

    def given(self) -> Iterator[Step]:
        yield from steps_in((self.args, tuple(self.kwargs.values())))

    def written(self) -> list[Step]:
        """The tensors that the call writes to."""
        return list(steps_in(tuple(written(self.target, self.args, self.kwargs))))


def steps_in(value: Any) -> Iterator[Step]:
    if isinstance(value, Step):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from steps_in(item)
    elif isinstance(value, slice):
        yield from steps_in((value.start, value.stop, value.step))


@dataclass(frozen=True, slots=True)
class Asked:
    """A question in its place: before the call of that number."""

    question: Question
    position: int
    state: Any = None  # as the question's, in Steps


class Weights:
    """The inputs that all runs have in common: one Step for a tensor, whenever it is met."""

    def __init__(self) -> None:
        self._users: dict[str, Step] = {}
        self._held: dict[int, Step] = {}
        self._constants: list[Step] = []

    def step(self, node: fx.Node, entry: GraphInput, out: Any) -> Step:
        fresh = Step("input", out=out, meta=node.meta, name=entry.name, entry=entry)
        if entry.kind is InputKind.USER:
            return self._users.setdefault(entry.name, fresh)
        known = self._held.get(id(entry.tensor))
        if known is None and entry.kind is InputKind.CONSTANT:
            known = next((c for c in self._constants if _alike(c, entry.tensor)), None)
        if known is None:
            known = fresh
            if entry.kind is InputKind.CONSTANT:
                self._constants.append(fresh)
        self._held[id(entry.tensor)] = known
        return known


def _shared(pieces: Sequence[Any], memory: Mapping[int, Step]) -> Step | None:
    """The tensor that all of them are pieces of."""
    found = {memory.get(storage(one)) for one in pieces if isinstance(one, torch.Tensor)}
    return found.pop() if len(found) == 1 else None


def _alike(step: Step, tensor: torch.Tensor) -> bool:
    assert step.entry is not None
    known: torch.Tensor = step.entry.tensor
    return (
        known.dtype == tensor.dtype
        and known.shape == tensor.shape
        and known.numel() <= _SMALL
        and not tensor.is_meta
        and torch.equal(known, tensor)
    )


class Reading:
    """A recorder's graph read into Steps."""

    def __init__(self, recorder: Recorder, weights: Weights, like: Sequence[Step]) -> None:
        self._recorder = recorder
        self.steps: list[Step] = []
        self.inputs: list[Step] = []
        self._of: dict[fx.Node, Step] = {}
        self._position: dict[fx.Node, int] = {}
        memory: dict[int, Step] = {}
        entries = iter(recorder.inputs)
        for node in recorder.graph.nodes:
            if node.op == "placeholder":
                step = weights.step(node, next(entries), plain(node.meta["val"]))
                self.inputs.append(step)
            elif node.op == "call_function":
                step = self._read(node)
                self._position[node] = len(self.steps)
                if len(self.steps) < len(like):
                    step = self._same(step, like[len(self.steps)])
                self.steps.append(step)
            else:
                continue
            self._of[node] = self._itself(node, step)
            if isinstance(node.meta["val"], torch.Tensor):
                step.base = memory.setdefault(storage(node.meta["val"]), step)
            elif isinstance(node.meta["val"], (list, tuple)):
                step.base = _shared(node.meta["val"], memory)

    def _read(self, node: fx.Node) -> Step:
        return Step(
            node.target,
            self.value(tuple(node.args)),
            {key: self.value(item) for key, item in node.kwargs.items()},
            plain(node.meta["val"]),
            {key: item for key, item in node.meta.items() if key != "val"},
            node.name,
        )

    def _itself(self, node: fx.Node, step: Step) -> Step:
        """`x.add_(1)` gives x: what is done with the result is done with x."""
        written = step.written()
        writes = isinstance(node.meta["val"], torch.Tensor) and len(written) == 1
        if not writes or torch.Tag.inplace_view in node.target.tags:  # type: ignore[union-attr]
            return step
        return written[0] if written[0].out == step.out else step

    def _same(self, step: Step, known: Step) -> Step:
        if step.target != known.target:
            raise UnlikeError("the model did something else with the same answers")
        return known

    def value(self, value: Any) -> Any:
        if isinstance(value, fx.Node):
            return self._of[value]
        return mapped(
            value, lambda leaf: self._of[leaf] if isinstance(leaf, fx.Node) else plain(leaf)
        )

    def position(self, after: fx.Node | None) -> int:
        return self._position[after] + 1 if after in self._position else 0

    def asked(self, question: Question) -> Asked:
        state = tuple((path, self.value(leaf)) for path, leaf in question.state)
        return Asked(question, self.position(question.after), state)


def plain(value: Any) -> Any:
    """A value of a run, free of it."""
    if isinstance(value, torch.Tensor):
        return Look(
            value.dtype,
            tuple(map(_expr, value.shape)),
            tuple(map(_expr, value.stride())) if value.layout is torch.strided else (),
        )
    if isinstance(value, _SYMBOLS):
        expr = _expr(value)
        return Number(type(value), expr) if expr.free_symbols else _constant(value, expr)
    if isinstance(value, (list, tuple)):
        return tuple(plain(item) for item in value)
    return value


def _expr(value: Any) -> Expr:
    # As it was when it was made: what the run learnt later need not hold on another path.
    return value.node._expr if isinstance(value, _SYMBOLS) else _number(value)


def _number(value: Any) -> Expr:
    import sympy

    return sympy.Integer(value)


def _constant(value: Any, expr: Expr) -> Any:
    if isinstance(value, torch.SymBool):
        return bool(expr)
    return int(expr) if isinstance(value, torch.SymInt) else float(expr)


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Every leaf of nested lists, tuples and slices changed."""
    if isinstance(value, tuple):
        return tuple(mapped(item, change) for item in value)
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    if isinstance(value, slice):
        return slice(*(mapped(item, change) for item in (value.start, value.stop, value.step)))
    return change(value)
