"""Sums, means, products and counts over dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.casting import converted
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import axes_of, call, chosen, floating, reduced
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, is_static, may_be_zero, same

aten = torch.ops.aten
Dims = Any  # int | Sequence[int] | None
_GROWING = frozenset({"Mul", "BitShift", "Pow"})
_CARRYING = frozenset(
    {"Add", "Sub", "BitwiseXor", "BitwiseOr", "Reshape", "Transpose", "Unsqueeze", "Squeeze"}
)


def _summable(op: Emitter, x: ir.Value, dtype: torch.dtype | None) -> ir.Value:
    """In the dtype asked for; integers and truth values add up in int64, as in torch."""
    if dtype is None and not op.dtype(x).is_floating_point:
        dtype = torch.int64
    return converted(op, x, dtype)


def _over(op: Emitter, name: str, x: ir.Value, dim: Dims, keepdim: bool) -> ir.Value:
    if op.rank(x) == 0:  # one number: its own sum, mean and product
        return x
    return reduced(op, name, x, axes_of(op, x, dim), keepdim)


@lowering(aten.sum.default)
def sum(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return sum_dim(op, x, None, dtype=dtype)


@lowering(aten.sum.dim_IntList)
def sum_dim(
    op: Emitter, x: ir.Value, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None
) -> ir.Value:
    addends = _summable(op, x, dtype)
    if _may_be_large(op, addends):
        return _whole_sum(op, addends, dim, keepdim)
    return _over(op, "ReduceSum", addends, dim, keepdim)


def _may_be_large(op: Emitter, x: ir.Value) -> bool:
    """Whether these are integers of a product or a shift: hashes, which fill all of their bits."""
    producer = x.producer()
    while producer is not None and producer.op_type in _CARRYING:
        x = producer.inputs[0]  # type: ignore[assignment]
        producer = x.producer()
    made = producer is not None and producer.op_type in _GROWING
    return made and op.dtype(x) is torch.int64


def _whole_sum(op: Emitter, x: ir.Value, dim: Dims, keepdim: bool) -> ir.Value:
    """By halves: ONNX Runtime adds integers up in float64, which has room for 53 bits."""
    low = op.Mod(x, 2**32)
    high = op.Div(op.Sub(x, low), 2**32)
    sums = [_over(op, "ReduceSum", half, dim, keepdim) for half in (high, low)]
    return op.Add(op.Mul(sums[0], 2**32), sums[1])


@lowering(aten.nansum.default)
def nansum(
    op: Emitter,
    x: ir.Value,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    return sum_dim(op, _without_nan(op, x), dim, keepdim, dtype)


def _without_nan(op: Emitter, x: ir.Value) -> ir.Value:
    if not op.dtype(x).is_floating_point:
        return x
    return chosen(op, call(op, "IsNaN", x), op.scalar(0.0, op.dtype(x)), x)


@lowering(aten.mean.default)
def mean(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return mean_dim(op, x, None, dtype=dtype)


@lowering(aten.mean.dim)
def mean_dim(
    op: Emitter, x: ir.Value, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None
) -> ir.Value:
    x = converted(op, x, dtype)
    sizes = [op.shape(x)[axis] for axis in axes_of(op, x, dim)]
    if [size for size in sizes if not is_static(size) and may_be_zero(size)]:
        return _quotient(op, x, dim, keepdim, product(sizes))
    result = _over(op, "ReduceMean", x, dim, keepdim)
    if [size for size in sizes if same(size, 0)]:
        return call(op, "Add", result, math.nan)  # the mean of nothing
    return result


def _quotient(op: Emitter, x: ir.Value, dim: Dims, keepdim: bool, count: Size) -> ir.Value:
    """The mean of what may be nothing: 0 / 0, where a runtime's own mean has no answer."""
    own = op.dtype(x)
    wide = own if own is torch.float64 else torch.float32
    total = _over(op, "ReduceSum", op.cast(x, wide), dim, keepdim)
    return op.cast(op.Div(total, op.scalar(count, wide)), own)


@lowering(aten.nanmean.default)
def nanmean(
    op: Emitter,
    x: ir.Value,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    x = converted(op, x, dtype)
    total = nansum(op, x, dim, keepdim)
    numbers = op.cast(op.Not(call(op, "IsNaN", x)), op.dtype(x))
    return call(op, "Div", total, sum_dim(op, numbers, dim, keepdim))


@lowering(aten.prod.default)
def prod(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return prod_dim(op, x, None, dtype=dtype)


@lowering(aten.prod.dim_int)
def prod_dim(
    op: Emitter, x: ir.Value, dim: Dims, keepdim: bool = False, dtype: torch.dtype | None = None
) -> ir.Value:
    return _over(op, "ReduceProd", _summable(op, x, dtype), dim, keepdim)


@lowering(aten.logsumexp.default, aten.special_logsumexp.default)
def logsumexp(op: Emitter, x: ir.Value, dim: Dims, keepdim: bool = False) -> ir.Value:
    (value,) = floating(op, x)
    return _over(op, "ReduceLogSumExp", value, dim, keepdim)


# ---- truth values --------------------------------------------------------------------------


@lowering(aten.any.default, aten._is_any_true.default)
def any(op: Emitter, x: ir.Value) -> ir.Value:
    return any_dim(op, x, None)


@lowering(aten.any.dim, aten.any.dims)
def any_dim(op: Emitter, x: ir.Value, dim: Dims = None, keepdim: bool = False) -> ir.Value:
    # A sum is several times quicker than a maximum of truth values, and right for none at all.
    truths = op.cast(x, torch.bool)
    if not _is_nothing(dim):
        number = _over(op, "ReduceSum", op.cast(truths, torch.int32), dim, keepdim)
        truths = op.cast(number, torch.bool)
    return _as_truth(op, truths, op.dtype(x))


@lowering(aten.all.default, aten._is_all_true.default)
def all(op: Emitter, x: ir.Value) -> ir.Value:
    return all_dim(op, x, None)


@lowering(aten.all.dim, aten.all.dims)
def all_dim(op: Emitter, x: ir.Value, dim: Dims = None, keepdim: bool = False) -> ir.Value:
    failing = any_dim(op, op.Not(op.cast(x, torch.bool)), dim, keepdim)
    return _as_truth(op, op.Not(failing), op.dtype(x))


def _is_nothing(dim: Dims) -> bool:
    """An empty list: to `any` and `all` it means no dimension, to the others every one."""
    return isinstance(dim, (list, tuple)) and not dim


def _as_truth(op: Emitter, truths: ir.Value, dtype: torch.dtype) -> ir.Value:
    return op.cast(truths, torch.uint8) if dtype is torch.uint8 else truths


@lowering(aten.count_nonzero.default, aten.count_nonzero.dim_IntList)
def count_nonzero(op: Emitter, x: ir.Value, dim: Dims = None) -> ir.Value:
    return sum_dim(op, op.cast(x, torch.bool), dim)


@lowering(aten.sum_to_size.default)
def sum_to_size(op: Emitter, x: ir.Value, size: Sequence[Size]) -> ir.Value:
    sizes = op.shape(x)
    lead = len(sizes) - len(size)
    ones = [
        lead + axis
        for axis, wanted in enumerate(size)
        if same(wanted, 1) and not same(sizes[lead + axis], 1)
    ]
    axes = [*range(lead), *ones]
    if not axes:
        return x
    return op.reshape(sum_dim(op, x, axes, True), tuple(size))
