"""Comparisons that are settled whatever the data are: an index lies within a size, as in
`if expert == len(experts)`, and a value is the number that was read from it.

`FakeTensor.item_memo` is torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import fx

aten = torch.ops.aten
_COMPARISONS: dict[Any, Callable[[Any, Any], bool]] = {
    aten.eq.Scalar: operator.eq,
    aten.ne.Scalar: operator.ne,
    aten.lt.Scalar: operator.lt,
    aten.le.Scalar: operator.le,
    aten.gt.Scalar: operator.gt,
    aten.ge.Scalar: operator.ge,
}
_SAME_VALUES = frozenset(
    {
        operator.getitem,
        aten.alias.default,
        aten.clone.default,
        aten.detach.default,
        aten.reshape.default,
        aten.select.int,
        aten.slice.Tensor,
        aten.squeeze.default,
        aten.squeeze.dim,
        aten.unbind.int,
        aten.unsqueeze.default,
        aten.view.default,
    }
)
_INDICES = {  # what gives indices -> whether as the second of its results
    aten.nonzero.default: False,
    aten.argmax.default: False,
    aten.argmin.default: False,
    aten.topk.default: True,
    aten.sort.default: True,
}


def settled_comparison(node: fx.Node | None) -> bool | None:
    """What a comparison with a number always gives; None where both is possible."""
    if node is None or node.target not in _COMPARISONS:
        return None
    if _is_read_from(*node.args[:2]):
        return _COMPARISONS[node.target](0, 0)
    if not isinstance(node.args[1], int):
        return None
    size = _size_indexed(node.args[0])
    if size is None:
        return None
    compare, number = _COMPARISONS[node.target], node.args[1]
    low, high = compare(0, number), compare(size - 1, number)
    # Of what is neither more nor less, the ends say nothing about what is between them.
    unsure = compare in (operator.eq, operator.ne) and 0 < number < size - 1
    return low if low == high and not unsure else None


def _is_read_from(value: Any, number: Any) -> bool:
    """Whether the number is what `.item()` of that very value gave."""
    known = getattr(value.meta["val"], "item_memo", None)
    number = number.meta.get("val") if isinstance(number, fx.Node) else number
    if not isinstance(known, torch.SymInt) or not isinstance(number, torch.SymInt):
        return False
    return bool(known.node.expr == number.node.expr)


def _size_indexed(value: Any) -> int | None:
    """How many there are of what a tensor of indices points at, if that is known."""
    part = None
    while isinstance(value, fx.Node) and value.target in _SAME_VALUES:
        if value.target is operator.getitem:
            part = value.args[1]
        value = value.args[0]
    if not isinstance(value, fx.Node) or value.target not in _INDICES:
        return None
    if _INDICES[value.target] and part != 1:
        return None
    sizes = _sizes(value)
    return max(sizes) if sizes and all(type(size) is int for size in sizes) else None


def _sizes(value: fx.Node) -> list[Any]:
    """What is counted: along each dimension, or all elements by `argmax` without one."""
    source: Any = value.args[0]
    looked_at: torch.Tensor = source.meta["val"]
    flat = value.target in (aten.argmax.default, aten.argmin.default) and len(value.args) < 2
    return [looked_at.numel()] if flat else list(looked_at.shape)
