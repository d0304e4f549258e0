"""What the elements of a rolled program give while it runs: tensors, pieces of one, rows of a loop."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy
import torch

from onnxpert.capture.rolling.fold import Key
from onnxpert.capture.rolling.scope import Scope
from onnxpert.capture.rolling.trace import Ref, UnalikeError

aten: Any = torch.ops.aten
Tensor: TypeAlias = Any  # torch leaves the results of its operators untyped
LAST, ALL = "last", "all"


def same(a: Any, b: Any) -> bool:
    """Whether two numbers are known to be equal, without asking for a guard."""
    one, other = _expression(a), _expression(b)
    if one == other or not all(isinstance(each, sympy.Expr) for each in (one, other)):
        return bool(one == other)
    return bool((one - other).expand() == 0)  # `n * (t + 1)` is `n * t + n`


def _expression(value: Any) -> Any:
    return value.node.expr if isinstance(value, (torch.SymInt, torch.SymFloat)) else value


@dataclass(frozen=True, slots=True)
class Pieces:
    """`unbind` or `split` of a tensor: a call only once somebody asks for a piece."""

    target: Any
    tensor: torch.Tensor
    size: Any = 1
    dim: int = 0

    def item(self, scope: Scope, index: Any) -> Tensor:
        tensor, dim = scope.bring(self.tensor), self.dim
        if self.target is aten.unbind.int:
            return aten.select.int(tensor, dim, index)
        whole = isinstance(index, int) and isinstance(tensor.shape[dim], int)
        if whole and isinstance(self.size, int):
            return aten.split.Tensor(tensor, self.size, dim)[index]
        start = index * self.size
        sliced = scope.recorder.sliced(tensor, dim, start, start + self.size)
        if sliced is None:
            return aten.slice.Tensor(tensor, dim, start, start + self.size)
        return sliced

    def rows(self, scope: Scope, count: Any) -> Tensor:
        """All pieces, stacked along a new first axis."""
        tensor = scope.bring(self.tensor)
        if self.target is aten.unbind.int:
            return aten.movedim.int(tensor, self.dim, 0)
        sizes = list(tensor.shape)
        sizes[self.dim : self.dim + 1] = [count, self.size]
        return aten.movedim.int(aten.reshape.default(tensor, sizes), self.dim, 0)


@dataclass(frozen=True, slots=True)
class Rolled:
    """What a loop gave: the last of what it carried, and all of what it left behind."""

    count: Any
    last: Mapping[Key, torch.Tensor]
    # By result, and for each loop inside whether it is the last of it or all: stacked, outer first.
    stacked: Mapping[tuple[Key, tuple[str, ...]], torch.Tensor]
    inner: Mapping[int, Rolled]

    def counts(self, port: Sequence[int]) -> list[Any]:
        if len(port) < 2:
            return [self.count]
        return [self.count, *self.inner[port[0]].counts(port[1:])]

    def item(self, scope: Scope, ref: Ref) -> Tensor:
        key = (ref.port, ref.pick)
        at_end = [
            same(index, count - 1)
            for index, count in zip(ref.index, self.counts(ref.port), strict=False)
        ]
        if all(at_end) and key in self.last:
            return scope.bring(self.last[key])
        ways = [tuple(LAST if end else ALL for end in at_end[1:]), (ALL,) * len(at_end[1:])]
        for way in ways:
            if (key, way) in self.stacked:
                result = scope.bring(self.stacked[key, way])
                for index, kind in zip(ref.index, (ALL, *way), strict=False):
                    result = aten.select.int(result, 0, index) if kind is ALL else result
                return result
        raise UnalikeError("what a loop leaves behind has another shape in each turn")

    def rows(self, ref: Ref) -> Tensor:
        found = self.stacked.get(((ref.port, ref.pick), (ALL,) * (len(ref.port) - 1)))
        if found is None:
            raise UnalikeError("what a loop leaves behind has another shape in each turn")
        return found


@dataclass(frozen=True, slots=True)
class Handle:
    """A value that can be had: who gave it, and the Ref with its numbers worked out."""

    value: Any
    ref: Ref

    def get(self, scope: Scope) -> Any:
        value, ref = self.value, self.ref
        if isinstance(value, Rolled):
            value = value.item(scope, ref)
        elif isinstance(value, Pieces):
            value = value.item(scope, ref.index[0])
        elif ref.pick is not None:
            value = value[ref.pick]
        if not isinstance(value, torch.Tensor):
            return value
        return value.shape[ref.axis] if ref.axis is not None else scope.bring(value)

    def moved(self, steps: Sequence[Any], turn: Any) -> Handle:
        """The same some turns later."""
        ref = self.ref
        moved = zip(ref.index, steps, strict=True)
        index = tuple(i if same(step, 0) else i + step * turn for i, step in moved)
        return Handle(self.value, Ref(ref.producer, ref.port, index, ref.pick, ref.axis))


@dataclass(frozen=True, slots=True)
class Row:
    """Values in a row, as an argument that is a list."""

    start: Handle
    dims: tuple[tuple[tuple[Any, ...], Any], ...]  # steps and count

    def items(self) -> list[Handle] | None:
        """One by one, if their number is known."""
        found = [self.start]
        for steps, count in self.dims:
            if not isinstance(count, int):
                return None
            found = [handle.moved(steps, turn) for handle in found for turn in range(count)]
        return found

    def stacked(self, scope: Scope) -> Tensor:
        """All of them along a new first axis."""
        source, ref = self.start.value, self.start.ref
        if len(self.dims) == 1 and all(same(step, 0) for step in self.dims[0][0]):
            one = self.start.get(scope)
            whole = aten.unsqueeze.default(one, 0)
            return aten.expand.default(whole, [self.dims[0][1], *one.shape])
        if isinstance(source, Pieces):
            return self._chosen(source.rows(scope, self.dims[0][1]), None)
        if isinstance(source, Rolled):
            whole = scope.bring(source.rows(ref))
            counts = source.counts(ref.port)
            if len(counts) == 1:
                return self._chosen(whole, counts[0])
            if self._is_whole(counts):
                return aten.flatten.using_ints(whole, 0, len(counts) - 1)
        raise UnalikeError("a list is made of values in an order that is not understood")

    def _chosen(self, whole: torch.Tensor, length: Any) -> Tensor:
        ((step,), count), start = self.dims[0], self.start.ref.index[0]
        length = whole.shape[0] if length is None else length
        if same(start, 0) and same(step, 1) and same(count, length):
            return whole
        if same(start, length - 1) and same(step, -1) and same(count, length):
            return aten.flip.default(whole, [0])
        turns = aten.arange.default(count, dtype=torch.int64)
        return aten.index_select.default(
            whole, 0, aten.add.Tensor(aten.mul.Tensor(turns, step), start)
        )

    def _is_whole(self, counts: Sequence[Any]) -> bool:
        rank = len(counts)
        return len(self.dims) == rank and all(
            same(count, wanted)
            and all(same(step, int(axis == place)) for place, step in enumerate(steps))
            and same(self.start.ref.index[axis], 0)
            for axis, ((steps, count), wanted) in enumerate(zip(self.dims, counts, strict=True))
        )


def joined(scope: Scope, target: Any, items: Sequence[Any], dim: int) -> Tensor:
    """`stack` or `cat` of a list that has rows in it."""
    stack = target is aten.stack.default
    if not stack and target not in (aten.cat.default, aten.concat.default):
        raise UnalikeError(f"{target} takes a list whose length varies")
    parts = []
    for item in items:
        if isinstance(item, Row):
            whole = item.stacked(scope)
            axis = dim if dim >= 0 else dim + whole.dim() - (0 if stack else 1)
            whole = aten.movedim.int(whole, 0, axis) if axis else whole
            parts.append(whole if stack else aten.flatten.using_ints(whole, axis, axis + 1))
        else:
            parts.append(aten.unsqueeze.default(item, dim) if stack else item)
    return parts[0] if len(parts) == 1 else aten.cat.default(parts, dim)
