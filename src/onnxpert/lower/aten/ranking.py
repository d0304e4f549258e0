"""The element of a given rank: kthvalue, median, nanmedian."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.reshaping import axis_of
from onnxpert.lower.aten.slicing import picked
from onnxpert.lower.aten.sorting import best, ordered
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import chosen, reduced
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


@lowering(aten.kthvalue.default)
def kthvalue(op: Emitter, x: ir.Value, k: Size, dim: int = -1, keepdim: bool = False) -> Any:
    if not op.rank(x):
        return x, op.const(0, torch.int64)
    axis = axis_of(op, x, dim)
    return _last(op, best(op, x, k, axis, largest=False), axis, keepdim)


def _last(
    op: Emitter, found: tuple[ir.Value, ir.Value], axis: int, keepdim: bool
) -> tuple[ir.Value, ...]:
    lasts = (picked(op, each, axis, -1) for each in found)
    return tuple(op.unsqueeze(last, axis) if keepdim else last for last in lasts)


@lowering(aten.median.dim)
def median_dim(op: Emitter, x: ir.Value, dim: int, keepdim: bool = False) -> Any:
    if not op.rank(x):
        return x, op.const(0, torch.int64)
    axis = axis_of(op, x, dim)
    half = (op.shape(x)[axis] + 1) // 2  # of two in the middle, the lower
    values, indices = _last(op, best(op, x, half, axis, largest=False), axis, keepdim)
    if not op.dtype(x).is_floating_point:
        return values, indices
    unknown = op.cast(op.IsNaN(x), torch.int32)
    first = op.ArgMax(unknown, axis=axis, keepdims=int(keepdim))
    some = op.cast(reduced(op, "ReduceMax", unknown, [axis], keepdim), torch.bool)
    nan = op.scalar(torch.nan, op.dtype(x))
    return chosen(op, some, nan, values), chosen(op, some, first, indices)


@lowering(aten.median.default)
def median(op: Emitter, x: ir.Value) -> ir.Value:
    return median_dim(op, op.reshape(x, (product(op.shape(x)),)), 0)[0]


@lowering(aten.nanmedian.dim)
def nanmedian_dim(op: Emitter, x: ir.Value, dim: int, keepdim: bool = False) -> Any:
    if not op.dtype(x).is_floating_point or not op.rank(x):
        return median_dim(op, x, dim, keepdim)
    axis = axis_of(op, x, dim)
    unknown = op.IsNaN(x)
    # NaN stands behind every number, where the middle of the others never reaches.
    filled = chosen(op, unknown, op.scalar(torch.inf, op.dtype(x)), x)
    values, indices = ordered(op, filled, axis, False)
    count = op.reduce("ReduceSum", op.cast(op.Not(unknown), torch.int64), [axis], True)
    middle = op.Max(op.Div(op.Sub(count, 1), 2), 0)
    value = op.GatherElements(values, middle, axis=axis)
    value = chosen(op, op.Equal(count, 0), op.scalar(torch.nan, op.dtype(x)), value)
    results = (value, op.GatherElements(indices, middle, axis=axis))
    return results if keepdim else tuple(op.squeeze(each, axis) for each in results)


@lowering(aten.nanmedian.default)
def nanmedian(op: Emitter, x: ir.Value) -> ir.Value:
    return nanmedian_dim(op, op.reshape(x, (product(op.shape(x)),)), 0)[0]
