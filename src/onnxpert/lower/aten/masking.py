"""Masks: filling, picking and finding the elements where a condition holds."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import KERNELS
from onnxpert.lower.aten.indexing import coordinates
from onnxpert.lower.aten.reshaping import spread
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import chosen
from onnxpert.lower.shapes import broadcast, product
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


@lowering(aten.masked_fill.Scalar, aten.masked_fill.Tensor)
def masked_fill(op: Emitter, x: ir.Value, mask: ir.Value, value: Any) -> ir.Value:
    return chosen(op, op.cast(mask, torch.bool), op.scalar(value, op.dtype(x)), x)


@lowering(aten.masked_select.default)
def masked_select(op: Emitter, x: ir.Value, mask: ir.Value) -> ir.Value:
    common = broadcast(op.shape(x), op.shape(mask))
    kept = op.reshape(spread(op, op.cast(mask, torch.bool), common), (product(common),))
    return op.Compress(op.reshape(spread(op, x, common), (product(common),)), kept, axis=0)


@lowering(aten.masked_scatter.default)
def masked_scatter(op: Emitter, x: ir.Value, mask: ir.Value, source: ir.Value) -> ir.Value:
    """The true places take the elements of `source` in their order."""
    common = broadcast(op.shape(x), op.shape(mask))
    mask = spread(op, op.cast(mask, torch.bool), common)
    flat = op.reshape(mask, (product(common),))
    count = op.CumSum(op.cast(flat, torch.int64), op.const(0, torch.int64))
    turn = op.Max(op.Sub(count, 1), 0)  # before the first true place any element will do
    size = product(op.shape(source))
    elements = op.reshape(op.cast(source, op.dtype(x)), (size,))
    if not isinstance(size, int) or size == 0:  # and of nothing there is not even that one
        elements = op.Concat(elements, op.const([0], op.dtype(x)), axis=0)
    taken = op.reshape(op.Gather(elements, turn, axis=0), common)
    return chosen(op, mask, taken, x)


# ---- where there is something --------------------------------------------------------------


def _truth(op: Emitter, x: ir.Value) -> ir.Value:
    return x if op.dtype(x) in KERNELS["NonZero"] else op.cast(x, torch.bool)


def found(op: Emitter, x: ir.Value) -> ir.Value:
    """The positions of what is not zero, one in each column."""
    if op.rank(x) == 0:
        inner = op.NonZero(_truth(op, op.reshape(x, (1,))))
        return op.Slice(inner, [0], [0], [0])
    return op.NonZero(_truth(op, x))


@lowering(aten.nonzero.default, aten.argwhere.default)
def nonzero(op: Emitter, x: ir.Value) -> ir.Value:
    return op.Transpose(found(op, x), perm=[1, 0])


@lowering(aten.nonzero_numpy.default, aten.where.default)
def nonzero_numpy(op: Emitter, x: ir.Value) -> Any:
    return tuple(coordinates(op, op.reshape(x, (1,)) if op.rank(x) == 0 else _truth(op, x)))


@lowering(aten.nonzero_static.default)
def nonzero_static(op: Emitter, x: ir.Value, *, size: Size, fill_value: int = -1) -> ir.Value:
    rank = op.rank(x)
    rows = op.Transpose(found(op, x), perm=[1, 0])
    enough = op.Concat(rows, op.expand(op.const([[fill_value]], torch.int64), (size, rank)), axis=0)
    result = op.Slice(enough, op.ints([0]), op.ints([size]), op.ints([0]))
    return op.describe(result, (size, rank))
