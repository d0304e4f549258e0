"""Systems with a triangular matrix, and Cholesky's factor with its solves."""

# ruff: noqa: N803  parameters are named as ATen's schemas name them

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linalg_turns import (
    across,
    column_of,
    down,
    identity,
    places,
    row_of,
    turns,
)
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.triangle import tril
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import broadcast

aten = torch.ops.aten


def real(op: Emitter, *values: ir.Value) -> None:
    """Refuses what torch itself has linear algebra for and ONNX has not."""
    if any(op.dtype(value) not in (torch.float32, torch.float64) for value in values):
        raise Refusal("linear algebra is done in float32 and float64 only")


def substituted(
    op: Emitter, a: ir.Value, b: ir.Value, *, upper: bool, unit: bool = False
) -> ir.Value:
    """X of A X = B, one row after the other; the other triangle of A is never looked at."""
    batch = broadcast(op.shape(a)[:-2], op.shape(b)[:-2])
    size = op.shape(a)[-1]
    start = op.expand(b, (*batch, *op.shape(b)[-2:]))
    rows = places(op, size)

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        (x,) = carried
        k = body.Sub(op.scalar(size - 1, torch.int64), turn) if upper else turn
        column = column_of(body, a, k)
        found = row_of(body, x, k)
        if not unit:
            found = body.Div(found, down(body, column_of(body, column, k)))
        left = body.Less(rows, k) if upper else body.Greater(rows, k)
        rest = body.Sub(x, body.Mul(down(body, column), across(body, found)))
        # Only these: a row that came out infinite must not reach those that are done.
        rest = body.Where(down(body, left), rest, x)
        return [body.Where(down(body, body.Equal(rows, k)), across(body, found), rest)]

    return turns(op, size, [start], step)[0]


@lowering(aten.linalg_solve_triangular.default)
def linalg_solve_triangular(
    op: Emitter,
    self: ir.Value,
    B: ir.Value,
    *,
    upper: bool,
    left: bool = True,
    unitriangular: bool = False,
) -> ir.Value:
    real(op, self, B)
    if left:
        return substituted(op, self, B, upper=upper, unit=unitriangular)
    turned = substituted(op, swapped(op, self), swapped(op, B), upper=not upper, unit=unitriangular)
    return swapped(op, turned)


@lowering(aten.triangular_solve.default)
def triangular_solve(
    op: Emitter,
    self: ir.Value,
    A: ir.Value,
    upper: bool = True,
    transpose: bool = False,
    unitriangular: bool = False,
) -> tuple[ir.Value, ir.Value]:
    real(op, self, A)
    matrix = swapped(op, A) if transpose else A
    solution = substituted(op, matrix, self, upper=upper is not transpose, unit=unitriangular)
    return solution, op.expand(A, (*op.shape(solution)[:-2], *op.shape(A)[-2:]))


# ---- Cholesky ------------------------------------------------------------------------------


@lowering(aten.linalg_cholesky_ex.default)
def linalg_cholesky_ex(
    op: Emitter, self: ir.Value, upper: bool = False, check_errors: bool = False
) -> tuple[ir.Value, ir.Value]:
    real(op, self)
    factor, info = _cholesky(op, swapped(op, self) if upper else self)
    return swapped(op, factor) if upper else factor, info


# torch 2.15 has no `aten.cholesky` any more, so it is named.
@lowering("aten::cholesky", aten.linalg_cholesky.default)
def cholesky(op: Emitter, self: ir.Value, upper: bool = False) -> Any:
    return linalg_cholesky_ex(op, self, upper)[0]


def _cholesky(op: Emitter, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The lower factor, column by column, from the lower triangle; and the first that failed."""
    *batch, size, _ = op.shape(x)
    dtype = op.dtype(x)
    rows = places(op, size)

    def step(body: Emitter, k: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        rest, info, stuck = carried
        zero = body.scalar(0, dtype)
        column = column_of(body, rest, k)
        square = column_of(body, column, k)
        root = down(body, body.Sqrt(square))
        below = body.Where(body.Greater(rows, k), body.Div(column, root), zero)
        column = body.Where(body.Equal(rows, k), root, below)
        less = body.Sub(rest, body.Mul(down(body, below), across(body, below)))
        rest = body.Where(body.Equal(rows, k), down(body, column), less)
        failed = body.And(body.Not(body.Greater(square, zero)), body.Equal(info, 0))
        return [
            _kept(body, rows, k, carried[0], rest),
            body.Where(failed, body.Add(k, 1), info),
            body.Where(failed, square, stuck),
        ]

    none = op.expand(op.scalar(0, torch.int64), batch)
    factor, info, stuck = turns(op, size, [x, none, op.expand(op.scalar(0, dtype), batch)], step)
    # LAPACK stops at the column that fails: its corner as far as it came, the rest untouched.
    last = across(op, down(op, op.Sub(info, 1)))
    untouched = op.And(op.GreaterOrEqual(last, 0), op.GreaterOrEqual(rows, last))
    corner = op.And(op.Equal(down(op, rows), last), op.Equal(rows, last))
    result = op.Where(untouched, x, factor)
    result = op.Where(corner, across(op, down(op, stuck)), result)
    return tril(op, result), op.cast(info, torch.int32)


def _kept(
    body: Emitter, columns: ir.Value, k: ir.Value, before: ir.Value, after: ir.Value
) -> ir.Value:
    """The columns that are done stay as they are."""
    return body.Where(body.Less(columns, k), before, after)


@lowering(aten.cholesky_solve.default)
def cholesky_solve(op: Emitter, self: ir.Value, input2: ir.Value, upper: bool = False) -> ir.Value:
    real(op, self, input2)
    lower, higher = (swapped(op, input2), input2) if upper else (input2, swapped(op, input2))
    return substituted(op, higher, substituted(op, lower, self, upper=False), upper=True)


@lowering(aten.cholesky_inverse.default)
def cholesky_inverse(op: Emitter, self: ir.Value, upper: bool = False) -> Any:
    size = op.shape(self)[-1]
    start = op.expand(identity(op, size, size, op.dtype(self)), op.shape(self))
    return cholesky_solve(op, start, self, upper)
