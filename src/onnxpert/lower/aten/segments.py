"""Reductions over runs of neighbours, each with a length of its own."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten
_NEUTRAL = {"sum": 0.0, "mean": 0.0, "max": -math.inf, "min": math.inf, "prod": 1.0}


@lowering(aten.segment_reduce.default)
def segment_reduce(
    op: Emitter,
    data: ir.Value,
    reduce: str,
    *,
    lengths: ir.Value | None = None,
    indices: ir.Value | None = None,
    offsets: ir.Value | None = None,
    axis: int = 0,
    unsafe: bool = False,
    initial: float | None = None,
) -> ir.Value:
    if indices is not None or reduce not in _NEUTRAL:
        raise Refusal("segments are said by lengths or by offsets only")
    starts, ends = _bounds(op, lengths, offsets, axis)
    dtype, size = op.dtype(data), op.shape(data)[axis]
    rest = op.rank(data) - axis - 1
    # Every segment beside every element: (..., segments, elements, 1, ..., 1).
    place = count(op, size)
    inside = op.And(
        op.GreaterOrEqual(place, op.unsqueeze(starts, axis + 1)),
        op.Less(place, op.unsqueeze(ends, axis + 1)),
    )
    if rest:
        inside = op.unsqueeze(inside, *range(axis + 2, axis + 2 + rest))
    neutral = op.scalar(_NEUTRAL[reduce], dtype)
    spread = op.Where(inside, op.unsqueeze(data, axis), neutral)
    result = _reduced(op, reduce, spread, axis + 1, initial)
    if reduce != "mean":
        return result
    number = op.cast(op.Sub(ends, starts), dtype)
    if rest:
        number = op.unsqueeze(number, *range(axis + 1, axis + 1 + rest))
    if initial is None:
        return op.Div(result, number)  # 0 / 0 where there is nothing
    return op.Div(result, op.Max(number, 1.0))


def _bounds(
    op: Emitter, lengths: ir.Value | None, offsets: ir.Value | None, axis: int
) -> tuple[ir.Value, ir.Value]:
    if offsets is not None:
        wide = op.cast(offsets, torch.int64)
        number = op.shape(offsets)[axis]
        shape = [*op.shape(offsets)[:axis], number - 1]
        starts = op.Slice(wide, [0], [-1], [axis])
        ends = op.Slice(wide, [1], [2**63 - 1], [axis])
        return op.describe(starts, shape), op.describe(ends, shape)
    if lengths is None:
        raise Refusal("neither lengths nor offsets are given")
    wide = op.cast(lengths, torch.int64)
    ends = op.CumSum(wide, op.const(axis, torch.int64))
    return op.Sub(ends, wide), ends


def _reduced(op: Emitter, how: str, x: ir.Value, axis: int, initial: float | None) -> ir.Value:
    first: Any = None if initial is None else op.scalar(initial, op.dtype(x))
    if how in ("sum", "mean"):
        total = op.reduce("ReduceSum", x, [axis], False)
        return total if first is None else op.Add(total, first)
    if how == "prod":
        total = op.reduce("ReduceProd", x, [axis], False)
        return total if first is None else op.Mul(total, first)
    name = "Max" if how == "max" else "Min"
    edge = op.scalar(_NEUTRAL[how], op.dtype(x)) if first is None else first
    shape = [1 if at == axis else size for at, size in enumerate(op.shape(x))]
    # The first value joins the others, so that there is always one.
    best = op.reduce(
        f"Reduce{name}", op.Concat(x, op.expand(edge, shape), axis=axis), [axis], False
    )
    # ONNX Runtime's reductions lose NaN, torch's keep it.
    lost = op.reduce("ReduceSum", op.cast(op.IsNaN(x), torch.int64), [axis], False)
    return op.Where(op.Greater(lost, 0), op.scalar(math.nan, op.dtype(x)), best)
