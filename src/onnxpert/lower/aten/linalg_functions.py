"""Functions of matrices by their eigenvalues and singular values: roots, polar parts, systems that
are solved as well as can be."""

# ruff: noqa: N803  parameters are named as ATen's schemas name them

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import most
from onnxpert.lower.aten.creation import filled
from onnxpert.lower.aten.linalg_rotation import eigen, singular
from onnxpert.lower.aten.linalg_triangular import real
from onnxpert.lower.aten.linalg_turns import across, down
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.triangle import tril
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import same

aten = torch.ops.aten
_WIDE = torch.float64


def _has_nothing(op: Emitter, x: ir.Value) -> bool:
    return any(same(size, 0) for size in op.shape(x))


@lowering("aten::linalg_matrix_sqrth")  # torch 2.13 has it not
def linalg_matrix_sqrth(op: Emitter, self: ir.Value) -> ir.Value:
    real(op, self)
    if _has_nothing(op, self):
        return self
    wide = op.cast(self, _WIDE)
    whole = op.Add(tril(op, wide), swapped(op, tril(op, wide, -1)))
    values, vectors = eigen(op, whole, True)
    assert vectors is not None
    # Less than nothing is taken for nothing, as torch does.
    roots = op.Sqrt(op.Max(values, op.scalar(0.0, _WIDE)))
    scaled = op.Mul(vectors, across(op, roots))
    return op.cast(op.MatMul(scaled, swapped(op, vectors)), op.dtype(self))


@lowering("aten::linalg_polar")
def linalg_polar(op: Emitter, A: ir.Value) -> tuple[ir.Value, ir.Value]:
    real(op, A)
    *batch, _, width = op.shape(A)
    dtype = op.dtype(A)
    if _has_nothing(op, A):
        return A, filled(op, (*batch, width, width), 0, dtype)
    left, values, right = singular(op, op.cast(A, _WIDE), True)
    assert left is not None
    assert right is not None
    turned = swapped(op, right)
    stretch = op.MatMul(op.Mul(right, across(op, values)), turned)
    return op.cast(op.MatMul(left, turned), dtype), op.cast(stretch, dtype)


# ---- least squares -------------------------------------------------------------------------


@lowering(aten.linalg_lstsq.default)
def linalg_lstsq(
    op: Emitter,
    self: ir.Value,
    b: ir.Value,
    rcond: float | None = None,
    *,
    driver: str | None = None,
) -> Any:
    real(op, self, b)
    dtype, how = op.dtype(self), driver or "gelsy"
    *batch, rows, columns = op.shape(self)
    nothing = op.const(torch.empty(0, dtype=dtype))
    solution_like, residuals_like, *_ = op.out
    if _has_nothing(op, self) or _has_nothing(op, b):
        empty = [filled(op, tuple(like.shape), 0, like.dtype) for like in op.out]
        # All of B is left over; only one of torch's drivers overlooks it.
        if same(columns, 0) and how in ("gelsd", "gelss") and not same(rows, 0):
            empty[1] = op.reduce("ReduceSum", op.Mul(b, b), [op.rank(b) - 2], False)
        return tuple(empty)
    vector = len(solution_like.shape) < max(op.rank(self), op.rank(b), 2) and (
        op.rank(b) == 1 or op.rank(b) == op.rank(self) - 1
    )
    wide, right = (op.cast(value, _WIDE) for value in (self, b))
    right = down(op, right) if vector else right
    left, values, turned = singular(op, wide, True)
    assert left is not None
    assert turned is not None
    kept = _kept(op, values, most(rows, columns), rcond, dtype)
    used = op.const(True, torch.bool) if how == "gels" else kept
    inverse = op.Where(used, op.Reciprocal(values), op.scalar(0.0, _WIDE))
    shares = op.Mul(op.MatMul(swapped(op, left), right), down(op, inverse))
    solution = op.MatMul(turned, shares)
    result = op.squeeze(solution, op.rank(solution) - 1) if vector else solution
    rank = op.const(torch.empty(0, dtype=torch.int64))
    if how != "gels":
        rank = op.reduce("ReduceSum", op.cast(kept, torch.int64), [len(batch)], False)
    residuals = nothing
    if residuals_like.dim() > 1 or not same(residuals_like.shape[0], 0):
        apart = op.Sub(op.MatMul(wide, solution), right)
        axis = op.rank(apart) - 2
        residuals = op.cast(op.reduce("ReduceSum", op.Mul(apart, apart), [axis], False), dtype)
    own = op.cast(values, dtype) if how in ("gelsd", "gelss") else nothing
    return op.cast(result, dtype), residuals, rank, own


def _kept(
    op: Emitter, values: ir.Value, size: Any, rcond: float | None, dtype: torch.dtype
) -> ir.Value:
    """Which singular values are not taken for zero."""
    limit = (
        op.scalar(rcond, _WIDE)
        if rcond is not None
        else op.Mul(op.scalar(size, _WIDE), torch.finfo(dtype).eps)
    )
    largest = op.reduce("ReduceMax", values, [op.rank(values) - 1], True)
    return op.Greater(values, op.Mul(largest, limit))
