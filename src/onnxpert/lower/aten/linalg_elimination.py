"""Elimination with pivots: LU, determinants, inverses and solutions of linear systems."""

# ruff: noqa: N803  parameters are named as ATen's schemas name them

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import least
from onnxpert.lower.aten.linalg_triangular import real, substituted
from onnxpert.lower.aten.linalg_turns import (
    across,
    column_of,
    diagonal_of,
    down,
    identity,
    leading,
    on_diagonal,
    places,
    row_of,
    rows_at,
    turns,
)
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.triangle import tril, triu
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import broadcast
from onnxpert.lower.symbols import Size, same

aten = torch.ops.aten
Factors = tuple[ir.Value, ir.Value, ir.Value]


def factored(op: Emitter, x: ir.Value) -> Factors:
    """L and U in one matrix, the row each turn exchanged with, and the order of rows that makes."""
    *batch, height, width = op.shape(x)
    dtype, shorter = op.dtype(x), least(height, width)
    rows, columns, steps = (places(op, size) for size in (height, width, shorter))

    def step(body: Emitter, k: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        lu, pivots, order = carried
        zero = body.scalar(0, dtype)
        sizes = body.Abs(column_of(body, lu, k))
        sizes = body.Where(body.Less(rows, k), body.scalar(-1, dtype), sizes)
        best = body.ArgMax(sizes, axis=body.rank(sizes) - 1, keepdims=1)
        exchange = _exchange(body, rows, k, best)
        lu = rows_at(body, lu, exchange)
        row, column = row_of(body, lu, k), column_of(body, lu, k)
        pivot = down(body, column_of(body, row, k))
        # Without a pivot there is nothing below it either.
        pivot = body.Where(body.Equal(pivot, zero), body.scalar(1, dtype), pivot)
        below = body.Greater(rows, k)
        factor = body.Where(below, body.Div(column, pivot), zero)
        row = body.Where(body.Greater(columns, k), row, zero)
        less = body.Sub(lu, body.Mul(down(body, factor), across(body, row)))
        kept = body.And(down(body, below), body.Equal(columns, k))
        return [
            body.Where(kept, down(body, factor), less),
            body.Where(body.Equal(steps, k), best, pivots),
            body.GatherElements(order, exchange, axis=body.rank(order) - 1),
        ]

    starts = [x, op.expand(steps, (*batch, shorter)), op.expand(rows, (*batch, height))]
    lu, pivots, order = turns(op, shorter, starts, step)
    return lu, pivots, order


def _exchange(body: Emitter, rows: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
    """The places of the rows when two of them have changed theirs."""
    second = body.Where(body.Equal(rows, other), one, rows)
    return body.Where(body.Equal(rows, one), other, second)


def _ordered(op: Emitter, pivots: ir.Value, height: Size) -> ir.Value:
    """The order of rows that exchanges (counted from one) make."""
    wide = op.cast(pivots, torch.int64)
    *batch, number = op.shape(pivots)
    rows = places(op, height)

    def step(body: Emitter, k: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        other = down(body, body.Sub(column_of(body, wide, k), 1))
        exchange = _exchange(body, rows, k, other)
        return [body.GatherElements(carried[0], exchange, axis=body.rank(carried[0]) - 1)]

    return turns(op, number, [op.expand(rows, (*batch, height))], step)[0]


def _permutation(op: Emitter, order: ir.Value, dtype: torch.dtype) -> ir.Value:
    """P of A = P L U."""
    rows = down(op, places(op, op.shape(order)[-1]))
    return op.cast(op.Equal(across(op, order), rows), dtype)


def solved(
    op: Emitter, lu: ir.Value, order: ir.Value, b: ir.Value, *, adjoint: bool = False
) -> ir.Value:
    """X of A X = B, or of A' X = B, for A = P L U."""
    if adjoint:
        turned = swapped(op, lu)
        inner = substituted(op, turned, b, upper=False)
        inner = substituted(op, turned, inner, upper=True, unit=True)
        return op.MatMul(_permutation(op, order, op.dtype(lu)), inner)
    batch = broadcast(op.shape(lu)[:-2], op.shape(b)[:-2])
    wide = op.expand(b, (*batch, *op.shape(b)[-2:]))
    moved = rows_at(op, wide, op.expand(order, (*batch, op.shape(order)[-1])))
    inner = substituted(op, lu, moved, upper=False, unit=True)
    return substituted(op, lu, inner, upper=True)


def _pivots(op: Emitter, pivots: ir.Value) -> ir.Value:
    return op.cast(op.Add(pivots, 1), torch.int32)


def _info(op: Emitter, lu: ir.Value) -> ir.Value:
    """The first zero on the diagonal, counted from one; 0 where there is none."""
    *_, height, width = op.shape(lu)
    zero = op.And(on_diagonal(op, height, width), op.Equal(lu, op.scalar(0, op.dtype(lu))))
    axis = op.rank(lu) - 2
    failed = op.Greater(op.reduce("ReduceSum", op.cast(zero, torch.int64), [axis], False), 0)
    size = op.scalar(width, torch.int64)
    column = op.Where(failed, places(op, width), size)
    column = op.Concat(column, op.expand(size, (*op.shape(lu)[:-2], 1)), axis=axis)
    first = op.reduce("ReduceMin", column, [axis], False)
    return op.cast(op.Where(op.Equal(first, size), 0, op.Add(first, 1)), torch.int32)


def _pivoting(pivot: bool) -> None:
    if not pivot:
        raise Refusal("torch has no LU without pivots on a CPU to compare with")


# ---- factors -------------------------------------------------------------------------------


@lowering(aten.linalg_lu_factor_ex.default)
def linalg_lu_factor_ex(
    op: Emitter, A: ir.Value, pivot: bool = True, check_errors: bool = False
) -> Factors:
    real(op, A)
    _pivoting(pivot)
    lu, pivots, _ = factored(op, A)
    return lu, _pivots(op, pivots), _info(op, lu)


@lowering(aten._lu_with_info.default)
def lu_with_info(op: Emitter, self: ir.Value, pivot: bool = True, check_errors: bool = True) -> Any:
    return linalg_lu_factor_ex(op, self, pivot)


@lowering(aten.linalg_lu_factor.default)
def linalg_lu_factor(op: Emitter, A: ir.Value, pivot: bool = True) -> Any:
    return linalg_lu_factor_ex(op, A, pivot)[:2]


@lowering(aten.linalg_lu.default)
def linalg_lu(op: Emitter, A: ir.Value, pivot: bool = True) -> Factors:
    real(op, A)
    _pivoting(pivot)
    lu, _, order = factored(op, A)
    return _permutation(op, order, op.dtype(A)), *_unpacked(op, lu)


def _unpacked(op: Emitter, lu: ir.Value) -> tuple[ir.Value, ir.Value]:
    *_, height, width = op.shape(lu)
    shorter = least(height, width)
    ones = identity(op, height, shorter, op.dtype(lu))
    left = op.Add(tril(op, leading(op, lu, shorter, -1), -1), ones)
    return left, triu(op, leading(op, lu, shorter, -2))


@lowering(aten.lu_unpack.default)
def lu_unpack(
    op: Emitter,
    LU_data: ir.Value,
    LU_pivots: ir.Value,
    unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> Factors:
    real(op, LU_data)
    dtype = op.dtype(LU_data)
    nothing = op.const(torch.empty(0, dtype=dtype))
    permutation, left, right = nothing, nothing, nothing
    if unpack_pivots:
        order = _ordered(op, LU_pivots, op.shape(LU_data)[-2])
        permutation = _permutation(op, order, dtype)
    if unpack_data:
        left, right = _unpacked(op, LU_data)
    return permutation, left, right


@lowering(aten.linalg_lu_solve.default)
def linalg_lu_solve(
    op: Emitter,
    LU: ir.Value,
    pivots: ir.Value,
    B: ir.Value,
    left: bool = True,
    adjoint: bool = False,
) -> ir.Value:
    real(op, LU, B)
    order = _ordered(op, pivots, op.shape(LU)[-1])
    if left:
        return solved(op, LU, order, B, adjoint=adjoint)
    return swapped(op, solved(op, LU, order, swapped(op, B), adjoint=not adjoint))


# ---- determinants --------------------------------------------------------------------------


def _parity(op: Emitter, pivots: ir.Value, dtype: torch.dtype) -> ir.Value:
    """-1 for an odd number of exchanges, else 1."""
    moved = op.Not(op.Equal(pivots, places(op, op.shape(pivots)[-1])))
    number = op.reduce("ReduceSum", op.cast(moved, torch.int64), [op.rank(pivots) - 1], False)
    return op.cast(op.Sub(1, op.Mul(op.Mod(number, 2), 2)), dtype)


def _determinant(op: Emitter, x: ir.Value, factors: Factors | None) -> ir.Value:
    """By ONNX's own operator where ONNX Runtime has it, else of the factors."""
    size = op.shape(x)[-1]
    if op.dtype(x) is torch.float32 and isinstance(size, int) and size > 0:
        return op.describe(op.Det(x), op.shape(x)[:-2])
    lu, pivots, _ = factors or factored(op, x)
    product = op.reduce("ReduceProd", diagonal_of(op, lu), [op.rank(x) - 2], False)
    return op.Mul(product, _parity(op, pivots, op.dtype(x)))


@lowering(aten._linalg_det.default)
def linalg_det_parts(op: Emitter, A: ir.Value) -> Factors:
    real(op, A)
    factors = factored(op, A)
    return _determinant(op, A, factors), factors[0], _pivots(op, factors[1])


@lowering(aten.linalg_det.default, aten.det.default)
def linalg_det(op: Emitter, A: ir.Value) -> ir.Value:
    real(op, A)
    return _determinant(op, A, None)


@lowering(aten._linalg_slogdet.default)
def linalg_slogdet_parts(op: Emitter, A: ir.Value) -> tuple[ir.Value, ...]:
    real(op, A)
    lu, pivots, _ = factored(op, A)
    diagonal, axis = diagonal_of(op, lu), op.rank(A) - 2
    sign = op.reduce("ReduceProd", op.Sign(diagonal), [axis], False)
    size = op.reduce("ReduceSum", op.Log(op.Abs(diagonal)), [axis], False)
    return op.Mul(sign, _parity(op, pivots, op.dtype(A))), size, lu, _pivots(op, pivots)


@lowering(aten.linalg_slogdet.default, aten.slogdet.default)
def linalg_slogdet(op: Emitter, A: ir.Value) -> Any:
    return linalg_slogdet_parts(op, A)[:2]


@lowering(aten.logdet.default)
def logdet(op: Emitter, self: ir.Value) -> ir.Value:
    sign, size = linalg_slogdet(op, self)
    nan = op.scalar(torch.nan, op.dtype(self))
    return op.Where(op.Less(sign, op.scalar(0, op.dtype(self))), nan, size)


# ---- inverses and systems ------------------------------------------------------------------


@lowering(aten.linalg_inv_ex.default)
def linalg_inv_ex(
    op: Emitter, A: ir.Value, check_errors: bool = False
) -> tuple[ir.Value, ir.Value]:
    real(op, A)
    lu, _, order = factored(op, A)
    size = op.shape(A)[-1]
    inverse = solved(op, lu, order, identity(op, size, size, op.dtype(A)))
    return inverse, _info(op, lu)


@lowering(aten.linalg_inv.default, aten.inverse.default)
def linalg_inv(op: Emitter, A: ir.Value) -> Any:
    return linalg_inv_ex(op, A)[0]


def is_vector(op: Emitter, a: ir.Value, b: ir.Value) -> bool:
    """torch's rule: one vector, or one for each matrix."""
    wanted, given = op.shape(a)[:-1], op.shape(b)
    if len(given) == 1:
        return True
    return len(given) == len(wanted) and all(map(same, given, wanted))


@lowering(aten._linalg_solve_ex.default)
def linalg_solve_parts(
    op: Emitter, A: ir.Value, B: ir.Value, left: bool = True, check_errors: bool = False
) -> tuple[ir.Value, ...]:
    real(op, A, B)
    lu, pivots, order = factored(op, A)
    vector = is_vector(op, A, B)
    right = down(op, B) if vector else B
    if left or vector:
        result = solved(op, lu, order, right, adjoint=not left)
    else:
        result = swapped(op, solved(op, lu, order, swapped(op, right), adjoint=True))
    result = op.squeeze(result, op.rank(result) - 1) if vector else result
    return result, lu, _pivots(op, pivots), _info(op, lu)


@lowering(aten.linalg_solve.default)
def linalg_solve(op: Emitter, A: ir.Value, B: ir.Value, left: bool = True) -> Any:
    return linalg_solve_parts(op, A, B, left)[0]


@lowering(aten.linalg_solve_ex.default)
def linalg_solve_ex(
    op: Emitter, A: ir.Value, B: ir.Value, left: bool = True, check_errors: bool = False
) -> Any:
    result, _, _, info = linalg_solve_parts(op, A, B, left)
    return result, info
