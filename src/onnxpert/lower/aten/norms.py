"""Norms of vectors, and those of matrices that need no singular values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.arithmetic import sub
from onnxpert.lower.aten.casting import converted
from onnxpert.lower.aten.extremum import amax, amin
from onnxpert.lower.aten.reduction import sum_dim
from onnxpert.lower.dtypes import Scalar
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import axes_of, call, chosen, reduced
from onnxpert.lower.symbols import same

aten = torch.ops.aten
Dims = Any  # int | Sequence[int] | None


@lowering(aten.linalg_vector_norm.default)
def linalg_vector_norm(
    op: Emitter,
    x: ir.Value,
    ord: Scalar = 2,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    x = converted(op, x, dtype)
    axes = axes_of(op, x, dim)
    if not axes:
        size = call(op, "Abs", x)
        return op.cast(op.cast(size, torch.bool), op.dtype(x)) if ord == 0 else size
    if ord == 2:
        return reduced(op, "ReduceL2", x, axes, keepdim)
    if ord == 1:
        return reduced(op, "ReduceL1", x, axes, keepdim)
    return _other_norm(op, x, float(ord), axes, keepdim)


def _other_norm(
    op: Emitter, x: ir.Value, ord: float, axes: Sequence[int], keepdim: bool
) -> ir.Value:
    if ord == 0:
        return sum_dim(op, op.cast(op.cast(x, torch.bool), op.dtype(x)), axes, keepdim)
    size = call(op, "Abs", x)
    if ord == math.inf:
        return amax(op, size, axes, keepdim)
    if ord == -math.inf:
        return amin(op, size, axes, keepdim)
    total = sum_dim(op, call(op, "Pow", size, ord), axes, keepdim)
    return call(op, "Pow", total, 1 / ord)


@lowering(aten.norm.Scalar)
def norm(op: Emitter, x: ir.Value, p: Scalar = 2) -> ir.Value:
    return linalg_vector_norm(op, x, p)


@lowering(aten.norm.ScalarOpt_dtype)
def norm_dtype(op: Emitter, x: ir.Value, p: Scalar | None, dtype: torch.dtype) -> ir.Value:
    return linalg_vector_norm(op, x, 2 if p is None else p, dtype=dtype)


@lowering(aten.norm.ScalarOpt_dim, aten.norm.ScalarOpt_dim_dtype)
def norm_dim(
    op: Emitter,
    x: ir.Value,
    p: Scalar | None,
    dim: Dims,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    return linalg_vector_norm(op, x, 2 if p is None else p, dim, keepdim, dtype)


@lowering(aten.frobenius_norm.dim)
def frobenius_norm(op: Emitter, x: ir.Value, dim: Dims, keepdim: bool = False) -> ir.Value:
    return linalg_vector_norm(op, x, 2, dim, keepdim)


@lowering(aten.norm_except_dim.default)
def norm_except_dim(op: Emitter, v: ir.Value, pow: int = 2, dim: int = 0) -> ir.Value:
    if dim == -1:
        return linalg_vector_norm(op, v, pow)
    others = [axis for axis in range(op.rank(v)) if axis != dim % op.rank(v)]
    return linalg_vector_norm(op, v, pow, others, keepdim=True) if others else call(op, "Abs", v)


@lowering(aten.dist.default)
def dist(op: Emitter, x: ir.Value, other: ir.Value, p: Scalar = 2) -> ir.Value:
    return linalg_vector_norm(op, sub(op, x, other), p)


# ---- matrices ------------------------------------------------------------------------------


@lowering(aten.linalg_norm.default, aten.linalg_norm.ord_str)
def linalg_norm(
    op: Emitter,
    x: ir.Value,
    ord: Scalar | str | None = None,
    dim: Dims = None,
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    if ord is None:
        return linalg_vector_norm(op, x, 2, dim, keepdim, dtype)
    axes = axes_of(op, x, dim)
    if len(axes) == 2:
        given = list(dim) if dim is not None else [-2, -1]
        return linalg_matrix_norm(op, x, ord, given, keepdim, dtype)
    if isinstance(ord, str):
        raise Refusal(f"the norm {ord!r} is one of matrices")
    return linalg_vector_norm(op, x, ord, dim, keepdim, dtype)


@lowering(aten.linalg_matrix_norm.default, aten.linalg_matrix_norm.str_ord)
def linalg_matrix_norm(
    op: Emitter,
    x: ir.Value,
    ord: Scalar | str = "fro",
    dim: Dims = (-2, -1),
    keepdim: bool = False,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    if ord == "fro":
        return linalg_vector_norm(op, x, 2, dim, keepdim, dtype)
    if ord not in (1, -1, math.inf, -math.inf):
        # torch takes it apart into singular values, which have a lowering of their own.
        raise Refusal(f"the matrix norm {ord!r} needs singular values")
    row, column = (axis % op.rank(x) for axis in dim)
    if any(
        same(op.shape(x)[axis], 0) for axis in (row, column)
    ):  # no columns: the largest sum is 0
        return linalg_vector_norm(op, x, 1, dim, keepdim, dtype)
    inner, outer = (row, column) if ord in (1, -1) else (column, row)
    sums = linalg_vector_norm(op, x, 1, [inner], True, dtype)
    extreme = amax if float(ord) > 0 else amin
    result: ir.Value = extreme(op, sums, [outer], True)
    return result if keepdim else op.squeeze(result, *sorted((row, column)))


@lowering(aten.renorm.default)
def renorm(op: Emitter, x: ir.Value, p: Scalar, dim: int, maxnorm: Scalar) -> ir.Value:
    others = [axis for axis in range(op.rank(x)) if axis != dim % op.rank(x)]
    size = linalg_vector_norm(op, x, p, others, keepdim=True)
    shrink = call(op, "Div", op.scalar(maxnorm, op.dtype(x)), call(op, "Add", size, 1e-7))
    keep = op.scalar(1.0, op.dtype(x))
    return op.Mul(x, chosen(op, call(op, "Greater", size, maxnorm), shrink, keep))
