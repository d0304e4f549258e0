"""Branches without branches: both sides are computed, and `torch.where` chooses.

A loop whose turns branch can be rolled up like any other once its turns are plain calls. Only what
cannot do harm on the side that is not taken is said so: sides that write to nothing, and whose values
look alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy
import torch
from torch import fx

from onnxpert.capture.forking.joining import SidesDifferError
from onnxpert.capture.forking.paths import Fork, Join, Loop, changed
from onnxpert.capture.forking.traces import Expr, Step
from onnxpert.capture.forking.weaving import Scope

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

    def _fork(self, fork: Fork) -> None:
        if not fork.question.about_data or changed((*fork.yes, *fork.no), set()):
            raise SidesDifferError("a branch on a size, or one that writes, is no choice of values")
        meta = {"frames": fork.question.frames, "module": fork.question.module}
        condition = self._tensor(self.expr(fork.condition), meta)
        self.write((*fork.yes, *fork.no))
        for join in fork.joins:
            self._chosen(condition, join, meta)

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
        node = self.graph.call_function(calls[not right.is_number], (given, other))
        with self.loom.values.mode:
            node.meta.update(meta, val=torch.empty((), dtype=torch.bool))
        return node

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
