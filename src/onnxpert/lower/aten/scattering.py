"""Elements put where an index says: scatter, scatter_reduce, index_add and their kin."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import carrier
from onnxpert.lower.aten.reshaping import axis_of, spread
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call
from onnxpert.lower.shapes import equal

aten = torch.ops.aten

_REDUCTIONS = {
    "add": "add", "sum": "add", "mean": "add",
    "multiply": "mul", "prod": "mul",
    "amax": "max", "amin": "min",
}  # fmt: skip
_SINCE = {"none": 13, "add": 16, "mul": 16, "max": 18, "min": 18}


def scattered(
    op: Emitter, x: ir.Value, axis: int, index: ir.Value, source: ir.Value, reduction: str = "none"
) -> ir.Value:
    """ScatterElements, of 0-d tensors too."""
    if op.opset < _SINCE[reduction]:
        raise Refusal(f"a scatter that reduces needs opset {_SINCE[reduction]}", _SINCE[reduction])
    sizes = op.shape(x)
    own = op.dtype(x)
    wide = own if reduction == "none" else carrier("Scatter", own)
    data, places, updates = (
        value if op.rank(value) else op.reshape(value, (1,)) for value in (x, index, source)
    )
    result = op.ScatterElements(
        op.cast(data, wide),
        places,
        op.cast(updates, wide),
        axis=axis,
        reduction=None if reduction == "none" else reduction,
    )
    return op.reshape(op.cast(op.describe(result, op.shape(data)), own), sizes)


def _trimmed(op: Emitter, source: ir.Value, index: ir.Value) -> ir.Value:
    """As much of the source as there are indices: torch lets it be larger, ONNX does not."""
    sizes = op.shape(index)
    if equal(op.shape(source), sizes) or not sizes:
        return source
    rank = len(sizes)
    part = op.Slice(source, [0] * rank, op.ints(sizes), list(range(rank)))
    return op.describe(part, sizes)


def _filled(op: Emitter, value: Any, dtype: torch.dtype, like: ir.Value) -> ir.Value:
    return spread(op, op.scalar(value, dtype), op.shape(like))


@lowering(aten.scatter.src)
def scatter(op: Emitter, x: ir.Value, dim: int, index: ir.Value, src: ir.Value) -> ir.Value:
    return scattered(op, x, axis_of(op, x, dim), index, _trimmed(op, src, index))


@lowering(aten.scatter.value)
def scatter_value(op: Emitter, x: ir.Value, dim: int, index: ir.Value, value: Any) -> ir.Value:
    return scattered(op, x, axis_of(op, x, dim), index, _filled(op, value, op.dtype(x), index))


@lowering(aten.scatter.reduce)
def scatter_with(
    op: Emitter, x: ir.Value, dim: int, index: ir.Value, src: ir.Value, *, reduce: str
) -> ir.Value:
    axis, source = axis_of(op, x, dim), _trimmed(op, src, index)
    return scattered(op, x, axis, index, source, _REDUCTIONS[reduce])


@lowering(aten.scatter.value_reduce)
def scatter_value_with(
    op: Emitter, x: ir.Value, dim: int, index: ir.Value, value: Any, *, reduce: str
) -> ir.Value:
    axis, source = axis_of(op, x, dim), _filled(op, value, op.dtype(x), index)
    return scattered(op, x, axis, index, source, _REDUCTIONS[reduce])


@lowering(aten.scatter_add.default)
def scatter_add(op: Emitter, x: ir.Value, dim: int, index: ir.Value, src: ir.Value) -> ir.Value:
    return scattered(op, x, axis_of(op, x, dim), index, _trimmed(op, src, index), "add")


@lowering(aten.scatter_reduce.two)
def scatter_reduce(
    op: Emitter,
    x: ir.Value,
    dim: int,
    index: ir.Value,
    src: ir.Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> ir.Value:
    source = _trimmed(op, src, index)
    return _reduced(op, x, axis_of(op, x, dim), index, source, reduce, include_self)


def _reduced(
    op: Emitter,
    x: ir.Value,
    axis: int,
    index: ir.Value,
    source: ir.Value,
    reduce: str,
    include_self: bool,
) -> ir.Value:
    reduction = _REDUCTIONS[reduce]
    base = x
    if not include_self:
        # What was there must not count: the neutral element, or one of those that compete anyway.
        neutral = {"add": 0, "mul": 1}.get(reduction)
        first = source if neutral is None else _filled(op, neutral, op.dtype(x), index)
        base = scattered(op, x, axis, index, first)
    total = scattered(op, base, axis, index, source, reduction)
    return _mean(op, x, axis, index, total, include_self) if reduce == "mean" else total


def _mean(
    op: Emitter, x: ir.Value, axis: int, index: ir.Value, total: ir.Value, include_self: bool
) -> ir.Value:
    own = op.dtype(x)
    ones = _filled(op, 1, torch.int64, x)
    start = (
        ones
        if include_self
        else scattered(op, ones, axis, index, _filled(op, 0, torch.int64, index))
    )
    count = scattered(op, start, axis, index, _filled(op, 1, torch.int64, index), "add")
    if own.is_floating_point:
        return op.Div(total, op.cast(count, own))
    # Integers are divided towards minus infinity.
    wide = op.cast(total, torch.int64)
    return op.cast(op.Div(op.Sub(wide, op.Mod(wide, count)), count), own)


# ---- along one dimension -------------------------------------------------------------------


def _along(
    op: Emitter, x: ir.Value, dim: int, index: ir.Value, source: ir.Value
) -> tuple[int, ir.Value, ir.Value]:
    """The axis, and an index of a number of slices made one of every element of theirs."""
    axis, sizes = axis_of(op, x, dim), op.shape(source)
    if not op.rank(x):
        return axis, op.reshape(index, (1,)), op.reshape(source, (1,))
    if not sizes:  # one slice of a vector, given without its dimension
        source, sizes = op.reshape(source, (1,)), (1,)
    count = op.shape(index)[0] if op.rank(index) else 1
    column = op.reshape(index, [count if i == axis else 1 for i in range(len(sizes))])
    return axis, op.expand(column, sizes), source


def _scaled(op: Emitter, source: ir.Value, alpha: Any) -> ir.Value:
    if isinstance(alpha, (int, float)) and alpha == 1:
        return source
    return call(op, "Mul", source, alpha)


@lowering(aten.index_add.default)
def index_add(
    op: Emitter, x: ir.Value, dim: int, index: ir.Value, source: ir.Value, *, alpha: Any = 1
) -> ir.Value:
    axis, places, updates = _along(op, x, dim, index, source)
    return scattered(op, x, axis, places, _scaled(op, updates, alpha), "add")


@lowering(aten.index_reduce.default)
def index_reduce(
    op: Emitter,
    x: ir.Value,
    dim: int,
    index: ir.Value,
    source: ir.Value,
    reduce: str,
    *,
    include_self: bool = True,
) -> ir.Value:
    axis, places, updates = _along(op, x, dim, index, source)
    return _reduced(op, x, axis, places, updates, reduce, include_self)


@lowering(aten.index_copy.default)
def index_copy(op: Emitter, x: ir.Value, dim: int, index: ir.Value, source: ir.Value) -> ir.Value:
    if op.rank(x) > 1 and axis_of(op, x, dim) == 0:  # whole rows: no index for every element
        rows = op.reshape(op.cast(index, torch.int64), (op.shape(source)[0], 1))
        return op.ScatterND(x, rows, op.cast(source, op.dtype(x)))
    axis, places, updates = _along(op, x, dim, index, source)
    return scattered(op, x, axis, places, updates)


@lowering(aten.index_fill.int_Scalar, aten.index_fill.int_Tensor)
def index_fill(op: Emitter, x: ir.Value, dim: int, index: ir.Value, value: Any) -> ir.Value:
    if not op.rank(x):
        return op.scalar(value, op.dtype(x))
    axis = axis_of(op, x, dim)
    sizes = list(op.shape(x))
    sizes[axis] = op.shape(index)[0] if op.rank(index) else 1
    fill = spread(op, op.scalar(value, op.dtype(x)), sizes)
    return index_copy(op, x, axis, index, fill)
