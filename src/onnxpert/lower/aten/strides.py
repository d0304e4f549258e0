"""Views by strides: elements named by where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import sympy
import torch
from torch.utils._sympy.functions import Max

from onnxpert.lower.aten.counting import grid
from onnxpert.lower.aten.scattering import scattered
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Expr, Size, concrete, expression, same

aten = torch.ops.aten


def _memory_order(x: torch.Tensor) -> list[int] | None:
    """The axes as its elements lie in memory, the widest apart first; None if there are gaps."""
    if not same(concrete(x.storage_offset()), 0):
        return None
    left = [axis for axis in range(x.dim()) if not same(concrete(x.shape[axis]), 1)]
    order: list[int] = []
    step = sympy.S.One
    while left:
        # Not by the example's sizes: on a side that others take they may be none at all.
        nearest = [axis for axis in left if _unpadded(expression(x.stride(axis))) == step]
        if not nearest:
            return None
        # Of equal ones the last is the narrowest, as in a tensor that was never turned.
        left.remove(nearest[-1])
        order.insert(0, nearest[-1])
        step = sympy.expand(step * _unpadded(expression(x.shape[nearest[-1]])))
    return [*(axis for axis in range(x.dim()) if axis not in order), *order]


def _unpadded(expr: Expr) -> Expr:
    """torch counts no element as one, where it makes strides; there is nothing to place then."""
    return sympy.expand(
        expr.replace(
            lambda part: isinstance(part, Max) and len(part.args) == 2 and 1 in part.args,
            lambda part: next(each for each in part.args if each != 1),
        )
    )


def _in_memory(op: Emitter, x: ir.Value) -> tuple[ir.Value, list[int]]:
    """All elements one behind the other as they lie, and the order of axes that this is."""
    base = op.given[0] if op.given else None
    order = _memory_order(base) if isinstance(base, torch.Tensor) else None
    if order is None:
        raise Refusal("a view by strides of a tensor whose elements do not lie in order")
    turned = x if order == sorted(order) else op.Transpose(x, perm=order)
    return op.reshape(turned, (product(op.shape(x)),)), order


@lowering(aten.as_strided.default, aten.as_strided_copy.default)
def as_strided(
    op: Emitter,
    x: ir.Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> ir.Value:
    flat, _ = _in_memory(op, x)
    places = grid(op, list(size), list(stride), storage_offset or 0)
    return op.Gather(flat, places, axis=0)


@lowering(aten.as_strided_scatter.default)
def as_strided_scatter(
    op: Emitter,
    x: ir.Value,
    src: ir.Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> ir.Value:
    flat, order = _in_memory(op, x)
    count = product(list(size))
    places = op.reshape(grid(op, list(size), list(stride), storage_offset or 0), (count,))
    updates = op.reshape(op.cast(src, op.dtype(x)), (count,))
    written = scattered(op, flat, 0, places, updates)
    sizes = op.shape(x)
    turned = op.reshape(written, [sizes[axis] for axis in order])
    if order == sorted(order):
        return turned
    return op.Transpose(turned, perm=[order.index(axis) for axis in range(len(order))])
