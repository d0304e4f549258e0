"""Values that open a side of a branch, found by going where its condition leads.

What a condition compares is a number, and autograd says how the inputs move it: a few steps lead to the
other side of a threshold behind layers, where no scaled or shifted example comes."""

from __future__ import annotations

import functools
import logging
import operator
from collections.abc import Callable, Mapping
from typing import Any

import sympy
import torch
from torch import fx

from onnxpert.core.types import Captured, InputKind
from onnxpert.verify.walk import Plans, Walk

logger = logging.getLogger(__name__)
STEPS = 24
_BEYOND = 0.05  # of the way to the threshold, behind it
_LEAST = 1e-3
_FARTHEST = 1e4  # times the example, which the other cases go to as well
_COND = torch.ops.higher_order.cond
_ITEMS = frozenset({"aten.item", "aten._local_scalar_dense"})
_MARGINS: dict[str, Callable[[Any, Any], Any]] = {
    "aten.gt": operator.sub,
    "aten.ge": operator.sub,
    "aten.lt": lambda one, other: other - one,
    "aten.le": lambda one, other: other - one,
    "aten.eq": lambda one, other: -(one - other).abs(),
    "aten.ne": lambda one, other: (one - other).abs(),
}
_BOTH = frozenset({"aten.logical_and", "aten.bitwise_and", "aten.__and__"})
_EITHER = frozenset({"aten.logical_or", "aten.bitwise_or", "aten.__or__"})
_RELATIONS: dict[Any, Callable[[Any, Any], Any]] = {
    sympy.StrictGreaterThan: operator.sub,
    sympy.GreaterThan: operator.sub,
    sympy.StrictLessThan: lambda one, other: other - one,
    sympy.LessThan: lambda one, other: other - one,
}


def steered(
    captured: Captured, leaves: Mapping[str, Any], branch: int, side: bool
) -> Mapping[str, torch.Tensor] | None:
    """The inputs, moved until the condition of a branch is as wanted; None where that leads nowhere."""
    values = {
        name: value.detach().clone()
        for name, value in leaves.items()
        if type(value) is torch.Tensor and value.is_floating_point() and value.numel()
    }
    plans = Plans()
    for step in range(STEPS if values else 0):
        moving = {name: value.requires_grad_(True) for name, value in values.items()}
        walk = _Margins(plans, branch)
        try:
            with torch.enable_grad():
                walk.run(captured.root, _given(captured, {**leaves, **moving}))
        except Exception:  # behind the branch it may do what it likes
            logger.debug("on the way to a side", exc_info=True)
        if side in walk.sides:
            return {name: value.detach() for name, value in values.items()} if step else None
        moved = _moved(moving, walk.margins, side) if walk.margins else None
        if moved is None or any(_is_far(value, leaves[name]) for name, value in moved.items()):
            return None
        values = moved
    return None


def _is_far(value: torch.Tensor, example: torch.Tensor) -> bool:
    """Whether it is beyond what a model is made for, where its own numbers overflow."""
    far = float(value.detach().abs().max())
    return not far <= _FARTHEST * (1 + float(example.detach().abs().max()))


def _given(captured: Captured, leaves: Mapping[str, Any]) -> list[Any]:
    user = InputKind.USER
    return [leaves[entry.name] if entry.kind is user else entry.tensor for entry in captured.inputs]


def _moved(
    values: Mapping[str, torch.Tensor], margins: list[torch.Tensor], side: bool
) -> dict[str, torch.Tensor] | None:
    """As far as the slope says that it is to just beyond the threshold."""
    nearest = (max if side else min)(margins, key=lambda one: float(one.detach()))
    if not nearest.requires_grad:
        return None
    found = torch.autograd.grad(nearest, list(values.values()), allow_unused=True)
    slopes = {name: slope for name, slope in zip(values, found, strict=True) if slope is not None}
    steepness = sum(float(slope.double().square().sum()) for slope in slopes.values())
    there = float(nearest.detach())
    if not 0 < steepness < float("inf"):
        return None
    way = abs(there) * (1 + _BEYOND) + _LEAST
    factor = (way if side else -way) / steepness
    return {
        name: value.detach() + slopes[name] * factor if name in slopes else value.detach()
        for name, value in values.items()
    }


class _Margins(Walk):
    """One run that keeps how far the condition of a branch is from being otherwise."""

    def __init__(self, plans: Plans, branch: int) -> None:
        super().__init__(plans)
        self._branch = branch
        self.margins: list[torch.Tensor] = []
        self.sides: set[bool] = set()
        self._of: dict[int, torch.Tensor] = {}  # id of a truth value -> how far from false
        self._items: dict[Any, torch.Tensor] = {}  # symbol -> the tensor that it was read from
        self._truths: dict[Any, torch.Tensor] = {}  # the same of truth values: how far from false
        self._kept: list[Any] = []

    def took(self, node: fx.Node, side: bool) -> None:
        if node.meta.get("branch") == self._branch:
            self.sides.add(side)

    def _call(self, node: fx.Node, args: Any, kwargs: Any) -> Any:
        if node.target is _COND and node.meta.get("branch") == self._branch:
            margin = self._margin(node, args[0])
            self.margins += [] if margin is None else [margin]
        value = super()._call(node, args, kwargs)
        name = str(getattr(node.target, "overloadpacket", ""))
        if name in _ITEMS:
            self._read(node, args[0])
        elif isinstance(value, torch.Tensor) and value.dtype is torch.bool:
            self._note(name, value, args)
        return value

    def _read(self, node: fx.Node, tensor: torch.Tensor) -> None:
        expr = _expression(node.meta.get("val"))
        if expr is None:
            return
        symbol = expr.lhs if expr.is_Relational else expr  # a truth value is compared with 1
        truth = self._of.get(id(tensor))
        if truth is not None:
            self._truths[symbol] = truth.reshape(())
        elif tensor.is_floating_point():
            self._items[symbol] = tensor.reshape(())

    def _note(self, name: str, value: torch.Tensor, args: Any) -> None:
        self._kept.append(value)
        if name in _MARGINS:
            tensors = [each for each in args[:2] if isinstance(each, torch.Tensor)]
            if all(each.is_floating_point() for each in tensors):
                self._of[id(value)] = _MARGINS[name](*args[:2])
            return
        known = [self._of.get(id(each)) for each in args if isinstance(each, torch.Tensor)]
        if not known or any(each is None for each in known):
            return
        if name in _BOTH:
            self._of[id(value)] = torch.minimum(*known)  # type: ignore[arg-type]
        elif name in _EITHER:
            self._of[id(value)] = torch.maximum(*known)  # type: ignore[arg-type]
        elif name == "aten.logical_not":
            self._of[id(value)] = -known[0]  # type: ignore[operator]
        elif name in ("aten.all", "aten.any") and len(args) == 1:
            self._of[id(value)] = known[0].min() if name == "aten.all" else known[0].max()  # type: ignore[union-attr]
        elif name in ("aten.reshape", "aten.view", "aten.squeeze", "aten.clone"):
            self._of[id(value)] = known[0].reshape(value.shape)  # type: ignore[union-attr]

    def _margin(self, node: fx.Node, condition: Any) -> torch.Tensor | None:
        if isinstance(condition, torch.Tensor):
            found = self._of.get(id(condition))
            return found.reshape(()) if found is not None and found.numel() == 1 else None
        asked: Any = node.args[0]
        return self._truth(
            _expression(asked.meta.get("val") if isinstance(asked, fx.Node) else asked)
        )

    def _truth(self, expr: Any) -> torch.Tensor | None:
        """How far an expression is from false."""
        if isinstance(expr, (sympy.And, sympy.Or, sympy.Not)):
            parts = [self._truth(part) for part in expr.args]
            known = [part.double() for part in parts if part is not None]
            if len(known) < len(parts):
                return None
            if isinstance(expr, sympy.Not):
                return -known[0]
            return functools.reduce(
                torch.minimum if isinstance(expr, sympy.And) else torch.maximum, known
            )
        if isinstance(expr, (sympy.Eq, sympy.Ne)) and expr.lhs in self._truths:
            found = self._truths[expr.lhs]
            return found if isinstance(expr, sympy.Eq) == bool(expr.rhs) else -found
        how = _RELATIONS.get(type(expr))
        return None if how is None else self._about(how(expr.lhs, expr.rhs))

    def _about(self, expr: Any) -> torch.Tensor | None:
        """An expression of numbers that were read from tensors, with how each of them moves it."""
        there = expr.xreplace(self._sizes)
        if there.free_symbols:
            return None
        found = torch.tensor(float(there), dtype=torch.float64)
        for symbol in expr.free_symbols & self._items.keys():
            slope = expr.diff(symbol).xreplace(self._sizes)
            if slope.is_number:
                tensor = self._items[symbol]
                found = found + float(slope) * (tensor - tensor.detach())
        return found


def _expression(symbolic: Any) -> Any:
    return symbolic.node.expr if hasattr(symbolic, "node") else None
