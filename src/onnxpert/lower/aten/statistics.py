"""Variance and standard deviation."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.reduction import mean_dim
from onnxpert.lower.dtypes import Scalar
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import axes_of, call
from onnxpert.lower.shapes import product

aten = torch.ops.aten
Dims = Any  # int | Sequence[int] | None
Pair = tuple[ir.Value, ir.Value]


def _moments(op: Emitter, x: ir.Value, dim: Dims, correction: Scalar, keepdim: bool) -> Pair:
    """Variance and mean over dimensions."""
    average = mean_dim(op, x, dim, True)
    apart = call(op, "Sub", x, average)
    spread = mean_dim(op, call(op, "Mul", apart, apart), dim, keepdim)
    axes = axes_of(op, x, dim)
    if not keepdim and axes:
        average = op.squeeze(average, *axes)
    if correction == 0:
        return spread, average
    count = product([op.shape(x)[axis] for axis in axes])
    return call(op, "Mul", spread, _corrected(op, count, correction, op.dtype(x))), average


def _corrected(op: Emitter, count: Any, correction: Scalar, dtype: torch.dtype) -> ir.Value:
    """n / (n - correction), where less than nothing is nothing."""
    total = op.scalar(count, torch.float64)
    rest = op.Max(op.Sub(total, float(correction)), 0.0)
    return op.cast(op.Div(total, rest), dtype)


def _unbiased(unbiased: bool) -> int:
    return 1 if unbiased else 0


def _or_one(correction: Scalar | None) -> Scalar:
    return 1 if correction is None else correction


@lowering(aten.var_mean.correction)
def var_mean(
    op: Emitter,
    x: ir.Value,
    dim: Dims = None,
    correction: Scalar | None = None,
    keepdim: bool = False,
) -> Pair:
    return _moments(op, x, dim, _or_one(correction), keepdim)


@lowering(aten.var_mean.dim)
def var_mean_dim(
    op: Emitter, x: ir.Value, dim: Dims, unbiased: bool = True, keepdim: bool = False
) -> Pair:
    return _moments(op, x, dim, _unbiased(unbiased), keepdim)


@lowering(aten.var_mean.default)
def var_mean_all(op: Emitter, x: ir.Value, unbiased: bool = True) -> Pair:
    return var_mean_dim(op, x, None, unbiased)


@lowering(aten.var.correction)
def var(
    op: Emitter,
    x: ir.Value,
    dim: Dims = None,
    correction: Scalar | None = None,
    keepdim: bool = False,
) -> ir.Value:
    return var_mean(op, x, dim, correction, keepdim)[0]


@lowering(aten.var.dim)
def var_dim(
    op: Emitter, x: ir.Value, dim: Dims, unbiased: bool = True, keepdim: bool = False
) -> ir.Value:
    return var_mean_dim(op, x, dim, unbiased, keepdim)[0]


@lowering(aten.var.default)
def var_all(op: Emitter, x: ir.Value, unbiased: bool = True) -> ir.Value:
    return var_mean_dim(op, x, None, unbiased)[0]


def _rooted(op: Emitter, moments: Pair) -> Pair:
    return call(op, "Sqrt", moments[0]), moments[1]


@lowering(aten.std_mean.correction)
def std_mean(
    op: Emitter,
    x: ir.Value,
    dim: Dims = None,
    correction: Scalar | None = None,
    keepdim: bool = False,
) -> Pair:
    return _rooted(op, var_mean(op, x, dim, correction, keepdim))


@lowering(aten.std_mean.dim)
def std_mean_dim(
    op: Emitter, x: ir.Value, dim: Dims, unbiased: bool = True, keepdim: bool = False
) -> Pair:
    return _rooted(op, var_mean_dim(op, x, dim, unbiased, keepdim))


@lowering(aten.std_mean.default)
def std_mean_all(op: Emitter, x: ir.Value, unbiased: bool = True) -> Pair:
    return _rooted(op, var_mean_dim(op, x, None, unbiased))


@lowering(aten.std.correction)
def std(
    op: Emitter,
    x: ir.Value,
    dim: Dims = None,
    correction: Scalar | None = None,
    keepdim: bool = False,
) -> ir.Value:
    return std_mean(op, x, dim, correction, keepdim)[0]


@lowering(aten.std.dim)
def std_dim(
    op: Emitter, x: ir.Value, dim: Dims, unbiased: bool = True, keepdim: bool = False
) -> ir.Value:
    return std_mean_dim(op, x, dim, unbiased, keepdim)[0]


@lowering(aten.std.default)
def std_all(op: Emitter, x: ir.Value, unbiased: bool = True) -> ir.Value:
    return std_mean_dim(op, x, None, unbiased)[0]
