"""A recorded graph as a trace: every call with the numbers and values it was given, place by place."""

from __future__ import annotations

import functools
import math
import operator
import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import fx

from onnxpert.core.types import Captured, InputKind

aten = torch.ops.aten
# They take a plain number where people give them a size: `opened.py` says them otherwise.
OPENABLE = frozenset(
    {
        aten.avg_pool1d.default,
        aten.avg_pool2d.default,
        aten.avg_pool3d.default,
        aten.max_pool1d.default,
        aten.max_pool2d.default,
        aten.max_pool3d.default,
        aten.linspace.default,
        aten.one_hot.default,
        aten.hann_window.default,
    }
)
# Their results are the pieces of one tensor: which piece is a number like any other.
PIECES = frozenset({aten.unbind.int, aten.split.Tensor})
_REPEATED = 5  # one value so many times in a list is a repetition; twice may be chance
_FEW = 8  # elements of a constant that may follow the turn of a loop


class UnalikeError(Exception):
    """The traces are not the same program at other lengths."""


@dataclass(frozen=True, slots=True)
class Ref:
    """A value: who made it, in which turn of the loops around that, and which size of it, if so."""

    producer: Hashable  # the name of an input, or the number of an element
    port: tuple[int, ...] = ()  # through loops: the place in the body, from the outermost in
    index: tuple[Any, ...] = ()  # the turn of each of these loops; of a piece, its number
    pick: int | None = None  # of several results
    axis: int | None = None  # the size along it, not the tensor


Leaf: TypeAlias = Any  # int, float or Ref
Spec: TypeAlias = "Number | Value | Size | Small | Range | Constant | Many | Run"


@dataclass(frozen=True, slots=True)
class Number:
    """One leaf: a number."""


@dataclass(frozen=True, slots=True)
class Value:
    """One leaf: a Ref."""


@dataclass(frozen=True, slots=True)
class Size:
    """Per term one number, its factor, and a Ref for each of its symbols."""

    terms: tuple[tuple[Any, tuple[Any, ...]], ...]  # expression, the symbols in it


@dataclass(frozen=True, slots=True)
class Small:
    """A constant tensor of a few numbers, each a leaf."""

    shape: tuple[int, ...]
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Range:
    """A constant tensor of numbers in a straight line: where it starts, its step and its length."""

    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Constant:
    """No leaf: the same in every trace."""

    value: Any


@dataclass(frozen=True, slots=True)
class Many:
    """A list or tuple."""

    kind: type
    items: tuple[Spec, ...]


@dataclass(frozen=True, slots=True)
class Run:
    """Values of one producer in a row: a Ref where it starts, and per dimension the steps and a count."""

    rank: int  # how many dimensions
    width: int  # how many numbers an index has


@dataclass(frozen=True, slots=True)
class Held:
    """A constant tensor, compared by what is in it."""

    tensor: Any = field(compare=False)
    look: tuple[Any, ...] = ()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Held) or self.look != other.look:
            return False
        return self.tensor is other.tensor or bool(torch.equal(self.tensor, other.tensor))

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Element:
    """A call, or a loop that stands for all its turns."""

    id: int
    template: Any  # what is the same in every turn and trace
    leaves: tuple[Leaf, ...]
    node: fx.Node | None = field(default=None, compare=False)  # where a call comes from


@dataclass(frozen=True, slots=True)
class CallTemplate:
    """A call without its leaves."""

    target: Any
    args: Spec
    kwargs: tuple[tuple[str, Spec], ...]


class Trace:
    """The calls of a captured graph; `elements` of them are made in the order of the run."""

    def __init__(self, captured: Captured) -> None:
        nodes = list(captured.root.graph.nodes)
        self.calls = [node for node in nodes if _is_call(node)]
        self.where: dict[int, tuple[int, tuple[int, ...], tuple[int, ...]]] = {}
        self._constants: dict[fx.Node, torch.Tensor] = {}
        self._sources: dict[fx.Node, Ref] = {}
        self._symbols: dict[Any, Ref] = {}
        inputs = iter(captured.inputs)
        for node in nodes:
            if node.op == "placeholder":
                entry = next(inputs)
                if entry.kind is InputKind.CONSTANT:
                    self._constants[node] = entry.tensor
                self._learn(node, Ref(entry.name))
        for number, node in enumerate(self.calls):
            self._learn(node, Ref(number))

    def _learn(self, node: fx.Node, ref: Ref) -> None:
        self._sources[node] = ref
        value = node.meta.get("val")
        self._sizes(value, ref)
        for part in node.users:
            if part.target is operator.getitem:
                place: Any = part.args[1]
                piece = node.target in PIECES
                self._sources[part] = (
                    Ref(ref.producer, index=(place,)) if piece else Ref(ref.producer, pick=place)
                )
                self._sizes(part.meta["val"], self._sources[part])

    def _sizes(self, value: Any, ref: Ref) -> None:
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            self._symbols.setdefault(value.node.expr, ref)
        elif isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    known = Ref(ref.producer, ref.port, ref.index, ref.pick, axis)
                    self._symbols.setdefault(size.node.expr, known)

    # ---- tokens ----------------------------------------------------------------------------

    def tokens(self) -> list[Hashable]:
        return [(n.target, n.meta.get("module"), _place(n), _kinds(n)) for n in self.calls]

    # ---- elements --------------------------------------------------------------------------

    def element(self, number: int) -> Element:
        """A call with its leaves; what it refers to is named as seen from here."""
        node = self.calls[number]
        leaves: list[Leaf] = []
        args = Many(
            tuple,
            tuple(
                Constant(value) if fixed(node.target, place) else self._spec(value, leaves)
                for place, value in enumerate(node.args)
            ),
        )
        kwargs = tuple((key, self._spec(value, leaves)) for key, value in node.kwargs.items())
        return Element(number, CallTemplate(node.target, args, kwargs), tuple(leaves), node)

    def seen(self, ref: Ref) -> Ref:
        """A Ref to something inside a loop that is over: to the loop, and the turn."""
        while isinstance(ref.producer, int) and ref.producer in self.where:
            loop, port, turns = self.where[ref.producer]
            ref = Ref(loop, (*port, *ref.port), (*turns, *ref.index), ref.pick, ref.axis)
        return ref

    def _spec(self, value: Any, leaves: list[Leaf]) -> Spec:
        if isinstance(value, fx.Node) and value in self._constants:
            return _constant(self._constants[value], leaves)
        if isinstance(value, fx.Node):
            leaves.append(self.seen(self._sources[value]))
            return Value()
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            return self._size(value, leaves)
        if isinstance(value, (list, tuple)):
            return self._many(value, leaves)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            leaves.append(value)
            return Number()
        return Constant(value)

    def _size(self, value: Any, leaves: list[Leaf]) -> Spec:
        expr = value.node.expr
        if expr.is_number:
            leaves.append(int(expr) if expr.is_integer else float(expr))
            return Number()
        terms = []
        parts = sorted(expr.as_coefficients_dict().items(), key=lambda part: str(part[0]))
        for term, factor in parts:
            symbols = tuple(sorted(term.free_symbols, key=str))
            if not all(symbol in self._symbols for symbol in symbols) or not factor.is_integer:
                raise UnalikeError(f"{expr} is not made of sizes that are known")
            names = tuple(_unnamed(position) for position in range(len(symbols)))
            terms.append((term.xreplace(dict(zip(symbols, names, strict=True))), names))
            leaves.append(int(factor))
            leaves += [self.seen(self._symbols[symbol]) for symbol in symbols]
        return Size(tuple(terms))

    def _many(self, values: Sequence[Any], leaves: list[Leaf]) -> Spec:
        items: list[Spec] = []
        at = 0
        while at < len(values):
            row = _row(values, at)
            refs = [self.seen(self._sources[node]) for node in row if node not in self._constants]
            if len(refs) < 2 or len(refs) != len(row):
                items.append(self._spec(values[at], leaves))
                at += 1
                continue
            for start, dims in runs(refs):
                leaves.append(start)
                if dims:
                    items.append(Run(len(dims), len(start.index)))
                    for steps, count in dims:
                        leaves += [*steps, count]
                else:
                    items.append(Value())
            at += len(row)
        return Many(list if isinstance(values, list) else tuple, tuple(items))


Dims: TypeAlias = "tuple[tuple[tuple[int, ...], int], ...]"


def runs(refs: Sequence[Ref]) -> list[tuple[Ref, Dims]]:
    """Refs in a row that differ by a constant step, as one each; rows of such rows too."""
    pieces: list[tuple[Ref, Dims]] = [(ref, ()) for ref in refs]
    while True:
        merged: list[tuple[Ref, Dims]] = []
        at = 0
        while at < len(pieces):
            start, dims = pieces[at]
            count, step = 1, _step(pieces, at)
            while step is not None and _step(pieces, at + count - 1) == step:
                count += 1
            if step is not None and not any(step) and count < _REPEATED:
                step, count = None, 1
            merged.append((start, ((step, count), *dims) if step is not None else dims))
            at += count
        if len(merged) == len(pieces):
            return merged
        pieces = merged


def _step(pieces: Sequence[tuple[Ref, Dims]], at: int) -> tuple[int, ...] | None:
    if at + 1 >= len(pieces):
        return None
    (a, dims), (b, others) = pieces[at], pieces[at + 1]
    alike = (a.producer, a.port, a.pick, a.axis) == (b.producer, b.port, b.pick, b.axis)
    if not alike or dims != others:
        return None
    return tuple(j - i for i, j in zip(a.index, b.index, strict=True))


def _row(values: Sequence[Any], at: int) -> list[fx.Node]:
    row = []
    while at < len(values) and isinstance(values[at], fx.Node):
        row.append(values[at])
        at += 1
    return row


def _constant(tensor: torch.Tensor, leaves: list[Leaf]) -> Spec:
    plain = not (tensor.is_meta or tensor.dtype.is_complex or tensor.dtype is torch.bool)
    rough = plain and tensor.dtype is not torch.float64  # whose digits a line would not keep
    if rough and tensor.dim() == 1 and tensor.numel() > 1 and (line := straight(tensor.tolist())):
        leaves += [*line, tensor.numel()]
        return Range(tensor.dtype)
    if plain and tensor.numel() <= _FEW:
        leaves += tensor.flatten().tolist()
        return Small(tuple(tensor.shape), tensor.dtype)
    return Constant(Held(tensor, (tuple(tensor.shape), tensor.dtype)))


def straight(numbers: Sequence[Any]) -> tuple[Any, Any] | None:
    """Where numbers start and what each adds, if that is a straight line."""
    start, step = numbers[0], numbers[1] - numbers[0]
    line = (start, step)
    return None if broken(numbers, line) is not None else line


def broken(numbers: Sequence[Any], line: tuple[Any, Any]) -> int | None:
    """The first number that is not on the line."""
    for place, number in enumerate(numbers):
        expected = line[0] + place * line[1]
        if isinstance(expected, float) and isinstance(number, float):
            near = math.isclose(expected, number, rel_tol=1e-9) or repr(expected) == repr(number)
        else:
            near = repr(expected) == repr(number)
        if not near:
            return place
    return None


def _unnamed(position: int) -> Any:
    import sympy

    return sympy.Symbol(f"v{position}", integer=True)


def _is_call(node: fx.Node) -> bool:
    if node.op == "output":
        return True
    return node.op == "call_function" and node.target is not operator.getitem


def _place(node: fx.Node) -> Hashable:
    """The instructions that were running: two calls on one line are still two."""
    frames = node.meta.get("frames") or ()
    return tuple((*frame, getattr(frame, "instruction", 0)) for frame in frames)


def _kinds(node: fx.Node) -> tuple[Hashable, ...]:
    """What the arguments are; those that can never be a size, with their value."""
    return tuple(
        repr(arg) if fixed(node.target, place) else _kind(arg)
        for place, arg in enumerate(node.args)
    )


def _kind(arg: Any) -> str:
    return "int" if isinstance(arg, torch.SymInt) else type(arg).__name__


@functools.cache
def _fixed_places(target: Any) -> frozenset[int]:
    """Which arguments of an operator are plain whole numbers (an axis): they never depend on a size."""
    schema = getattr(target, "_schema", None)
    if schema is None:
        return frozenset()
    # Only the text of a schema tells `SymInt` and `int` apart.
    plain = set(re.findall(r"\bint(?:\[\d*\])?\??\s+(\w+)", str(schema)))
    return frozenset(i for i, argument in enumerate(schema.arguments) if argument.name in plain)


def fixed(target: Any, place: int) -> bool:
    return target not in OPENABLE and place in _fixed_places(target)
