"""Branches without branches: both sides are computed, and `torch.where` chooses.

A loop whose turns branch can be rolled up like any other once its turns are plain calls. Only what
cannot do harm on the side that is not taken is said so: sides whose values look alike. What a side
writes is taken back where it was not its turn to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import sympy
import torch
from torch import fx

from onnxpert.capture.forking.joining import SidesDifferError
from onnxpert.capture.forking.paths import Fork, Item, Join, Loop, Use, changed, made
from onnxpert.capture.forking.traces import Expr, Look, Step
from onnxpert.capture.forking.weaving import Loom, Scope

aten = torch.ops.aten
_READS = (aten._local_scalar_dense.default, aten.item.default)
_RELATIONS: dict[Any, tuple[Any, Any]] = {
    sympy.Eq: (aten.eq.Scalar, aten.eq.Tensor),
    sympy.Ne: (aten.ne.Scalar, aten.ne.Tensor),
    sympy.Lt: (aten.lt.Scalar, aten.lt.Tensor),
    sympy.Le: (aten.le.Scalar, aten.le.Tensor),
    sympy.Gt: (aten.gt.Scalar, aten.gt.Tensor),
    sympy.Ge: (aten.ge.Scalar, aten.ge.Tensor),
}


class FlatScope(Scope):
    """A graph in which a branch is a choice between values. Raises SidesDifferError."""

    def __init__(self, loom: Loom, graph: fx.Graph, outer: Scope | None) -> None:
        super().__init__(loom, graph, outer)
        self._taken: fx.Node | None = None  # whether what is being written counts; None: it does
        self._own: set[Step] = set()  # what the side that is being written has made

    def _fork(self, fork: Fork) -> None:
        if not fork.question.about_data:
            raise SidesDifferError("a branch on a size is no choice of values")
        meta = {"frames": fork.question.frames, "module": fork.question.module}
        condition = self._tensor(self.expr(fork.condition), meta)
        self._side_of(fork.yes, condition, meta)
        if changed(fork.no, set()):
            self._side_of(fork.no, self._truth(aten.logical_not.default, (condition,), meta), meta)
        else:
            self.write(fork.no)
        for join in fork.joins:
            self._chosen(condition, join, meta)

    def _side_of(self, items: Sequence[Item], condition: fx.Node, meta: dict[str, Any]) -> None:
        before = self._taken, self._own
        if self._taken is not None:
            condition = self._truth(aten.logical_and.default, (self._taken, condition), meta)
        self._taken, self._own = condition, made(items)
        self.write(items)
        self._taken, self._own = before

    def _use(self, use: Use) -> None:
        written = [step for step in use.written() if step.base not in self._own]
        if self._taken is None or not written:
            super()._use(use)
            return
        meta = dict(use.step.meta)
        old = [self._made(aten.clone.default, (self.node(s),), s.out, meta) for s in written]
        super()._use(use)
        for step, was in zip(written, old, strict=True):
            now = self.node(step)
            kept = self._made(aten.where.self, (self._taken, now, was), step.out, meta)
            self._made(aten.copy_.default, (now, kept), step.out, meta)

    def _truth(self, target: Any, args: Any, meta: dict[str, Any]) -> fx.Node:
        return self._made(target, args, Look(torch.bool, (), ()), meta)

    def _loop(self, loop: Loop) -> None:  # noqa: ARG002 - the signature is the scope's
        raise SidesDifferError("a loop is no choice of values")

    def _chosen(self, condition: fx.Node, join: Join, meta: dict[str, Any]) -> None:
        if not all(isinstance(each, Step) for each in (join.key, join.yes, join.no)):
            raise SidesDifferError("the sides of a branch give numbers")
        sides = [self.node(join.yes), self.node(join.no)]
        looks = [(each.meta["val"].dtype, str(each.meta["val"].shape)) for each in sides]
        if looks[0] != looks[1]:
            raise SidesDifferError("the sides of a branch give tensors of different looks")
        self.nodes[join.key] = self._made(aten.where.self, (condition, *sides), join.out, meta)

    def _made(self, target: Any, args: Any, out: Any, meta: dict[str, Any]) -> fx.Node:
        node = self.graph.call_function(target, args)
        node.meta.update(meta, val=self.example(out))
        return node

    # ---- conditions ------------------------------------------------------------------------

    def _tensor(self, condition: Expr, meta: dict[str, Any]) -> fx.Node:
        """The condition as a tensor without dimensions, from those that its numbers were read of."""
        calls = _RELATIONS.get(condition.func)
        if calls is None:
            raise SidesDifferError("the condition of a branch is no comparison")
        left, right = condition.args
        if left.is_number:
            turned: Callable[[Expr, Expr], Expr] = condition.reversed.func
            calls, left, right = _RELATIONS[turned], right, left
        given = self._read(left, meta)
        other = _plain(right) if right.is_number else self._read(right, meta)
        return self._truth(calls[not right.is_number], (given, other), meta)

    def _read(self, number: Expr, meta: dict[str, Any]) -> fx.Node:
        source = self.sources.get(number)
        if source is None or source.target not in _READS:
            raise SidesDifferError("the condition of a branch is no plain number")
        tensor: Any = source.args[0]
        if not tensor.meta["val"].dim():
            return tensor  # type: ignore[no-any-return]
        node = self.graph.call_function(aten.reshape.default, (tensor, []))
        with self.loom.values.mode:
            node.meta.update(meta, val=torch.empty((), dtype=tensor.meta["val"].dtype))
        return node


def _plain(number: Expr) -> int | float:
    return int(number) if number.is_Integer else float(number)


def without_reads(graph: fx.Graph) -> None:
    """Takes out the numbers that only a condition was made of."""
    for node in reversed(list(graph.nodes)):
        if node.target in _READS and not node.users:
            graph.erase_node(node)
