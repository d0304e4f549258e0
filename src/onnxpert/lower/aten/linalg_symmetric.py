"""Symmetric matrices that need not be positive: factors L D L' with pivots, and their solves.

Bunch's and Kaufman's pivots, as LAPACK picks and stores them: a negative one belongs to a block of
two. A block is begun in the turn of its first column; the turn of its second one does nothing."""

# ruff: noqa: N803  parameters are named as ATen's schemas name them

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.creation import filled
from onnxpert.lower.aten.linalg_triangular import real
from onnxpert.lower.aten.linalg_turns import (
    across,
    column_of,
    columns_at,
    down,
    places,
    row_of,
    rows_at,
    turns,
)
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.triangle import tril
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import broadcast
from onnxpert.lower.symbols import Size, same

aten = torch.ops.aten
_ALPHA = (1 + math.sqrt(17)) / 8  # keeps the growth of the elements least
Factors = tuple[ir.Value, ir.Value, ir.Value]


@lowering(aten.linalg_ldl_factor_ex.default)
def linalg_ldl_factor_ex(
    op: Emitter, self: ir.Value, *, hermitian: bool = False, check_errors: bool = False
) -> Factors:
    real(op, self)
    *batch, size, _ = op.shape(self)
    if any(same(each, 0) for each in op.shape(self)):
        none = filled(op, (*batch, size), 0, torch.int32)
        return self, none, filled(op, batch, 0, torch.int32)
    whole = op.Add(tril(op, self), swapped(op, tril(op, self, -1)))
    no, zero = (op.expand(op.scalar(v), batch) for v in (False, 0))
    starts = [whole, op.expand(op.const(0, torch.int64), (*batch, size)), no, zero]
    matrix, pivots, _, info = turns(op, size, starts, _Factoring(op, size).step)
    return tril(op, matrix), op.cast(pivots, torch.int32), op.cast(info, torch.int32)


@lowering(aten.linalg_ldl_factor.default)
def linalg_ldl_factor(op: Emitter, self: ir.Value, *, hermitian: bool = False) -> Any:
    return linalg_ldl_factor_ex(op, self)[:2]


class _Factoring:
    """One turn: a pivot is picked, brought to its place and eliminated."""

    def __init__(self, op: Emitter, size: Size) -> None:
        self.rows = places(op, size)
        self.last = op.scalar(size - 1, torch.int64)

    def step(self, body: Emitter, k: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        matrix, pivots, second, info = carried
        rows = self.rows
        pivot, two, nothing = self._picked(body, k, matrix)
        two = body.And(two, body.Not(second))
        home = body.Where(two, body.Add(k, 1), k)
        moved = self._exchanged(body, k, matrix, home, pivot)
        done = body.Where(
            _spread(body, two), self._by_two(body, k, moved), self._by_one(body, k, moved)
        )
        done = body.Where(_spread(body, nothing), moved, done)
        matrix = body.Where(_spread(body, second), matrix, done)
        number = body.Add(pivot, 1)
        number = down(body, body.Where(two, body.Neg(number), number))
        here = body.Or(
            body.Equal(rows, k), body.And(down(body, two), body.Equal(rows, body.Add(k, 1)))
        )
        fresh = body.And(here, body.Not(down(body, second)))
        failed = body.And(body.And(nothing, body.Not(second)), body.Equal(info, 0))
        return [
            matrix,
            body.Where(fresh, number, pivots),
            two,
            body.Where(failed, body.Add(k, 1), info),
        ]

    def _picked(self, body: Emitter, k: ir.Value, matrix: ir.Value) -> Factors:
        """Which row comes to the diagonal, whether with a second one, and whether there is none."""
        rows, dtype = self.rows, body.dtype(matrix)
        zero, minus = body.scalar(0, dtype), body.scalar(-1, dtype)
        column = body.Abs(column_of(body, matrix, k))
        own = column_of(body, column, k)
        below = body.Where(body.Greater(rows, k), column, minus)
        axis = body.rank(below) - 1
        best = body.ArgMax(below, axis=axis, keepdims=0)
        largest = body.Max(body.reduce("ReduceMax", below, [axis], False), zero)
        across_best = body.Abs(_row_at(body, matrix, best))
        others = body.And(
            body.GreaterOrEqual(rows, k), body.Not(body.Equal(rows, down(body, best)))
        )
        beside = body.reduce("ReduceMax", body.Where(others, across_best, zero), [axis], False)
        diagonal = body.squeeze(body.GatherElements(across_best, down(body, best), axis=axis), axis)
        enough = body.GreaterOrEqual(own, body.Mul(largest, _ALPHA))
        ratio = body.Div(
            largest, body.Where(body.Equal(beside, zero), body.scalar(1, dtype), beside)
        )
        enough = body.Or(
            enough, body.GreaterOrEqual(own, body.Mul(body.Mul(largest, _ALPHA), ratio))
        )
        nothing = body.Equal(body.Max(own, largest), zero)
        stays = body.Or(enough, nothing)
        alone = body.GreaterOrEqual(diagonal, body.Mul(beside, _ALPHA))
        two = body.And(body.Not(stays), body.Not(alone))
        return body.Where(stays, k, best), two, nothing

    def _exchanged(
        self, body: Emitter, k: ir.Value, matrix: ir.Value, home: ir.Value, pivot: ir.Value
    ) -> ir.Value:
        """Two rows and columns of what is left have changed places."""
        order = _exchange(body, self.rows, home, pivot)
        moved = rows_at(body, columns_at(body, matrix, order), order)
        left = body.GreaterOrEqual(self.rows, k)
        return body.Where(body.And(down(body, left), left), moved, matrix)

    def _by_one(self, body: Emitter, k: ir.Value, matrix: ir.Value) -> ir.Value:
        after = body.Greater(self.rows, k)
        column = column_of(body, matrix, k)
        part = body.Div(column, down(body, column_of(body, column, k)))
        less = body.Sub(matrix, body.Mul(down(body, part), across(body, column)))
        result = body.Where(body.And(down(body, after), after), less, matrix)
        put = body.And(down(body, after), body.Equal(self.rows, k))
        return body.Where(put, down(body, part), result)

    def _by_two(self, body: Emitter, k: ir.Value, matrix: ir.Value) -> ir.Value:
        following = body.Min(body.Add(k, 1), self.last)
        after = body.Greater(self.rows, body.Add(k, 1))
        first, other = column_of(body, matrix, k), column_of(body, matrix, following)
        between = column_of(body, first, following)
        d1 = down(body, body.Div(column_of(body, other, following), between))
        d2 = down(body, body.Div(column_of(body, first, k), between))
        scale = body.Reciprocal(body.Mul(body.Sub(body.Mul(d1, d2), 1.0), down(body, between)))
        one = body.Mul(scale, body.Sub(body.Mul(d1, first), other))
        two = body.Mul(scale, body.Sub(body.Mul(d2, other), first))
        less = body.Add(
            body.Mul(down(body, first), across(body, one)),
            body.Mul(down(body, other), across(body, two)),
        )
        result = body.Where(body.And(down(body, after), after), body.Sub(matrix, less), matrix)
        put = body.And(down(body, after), body.Equal(self.rows, k))
        result = body.Where(put, down(body, one), result)
        put = body.And(down(body, after), body.Equal(self.rows, following))
        return body.Where(put, down(body, two), result)


def _spread(body: Emitter, flag: ir.Value) -> ir.Value:
    return down(body, down(body, flag))


def _row_at(body: Emitter, matrix: ir.Value, which: ir.Value) -> ir.Value:
    """One row of each matrix, each its own."""
    row = rows_at(body, matrix, down(body, which))
    return body.squeeze(row, body.rank(row) - 2)


def _exchange(body: Emitter, rows: ir.Value, one: ir.Value, other: ir.Value) -> ir.Value:
    one, other = (down(body, value) for value in (one, other))
    second = body.Where(body.Equal(rows, other), one, rows)
    return body.Where(body.Equal(rows, one), other, second)


# ---- solves --------------------------------------------------------------------------------


@lowering(aten.linalg_ldl_solve.default)
def linalg_ldl_solve(
    op: Emitter, LD: ir.Value, pivots: ir.Value, B: ir.Value, *, hermitian: bool = False
) -> ir.Value:
    real(op, LD, B)
    size, columns = op.shape(B)[-2:]
    batch = broadcast(op.shape(LD)[:-2], op.shape(B)[:-2])
    start = op.expand(B, (*batch, size, columns))
    if any(same(each, 0) for each in (*batch, size, columns)):
        return start
    matrix = op.expand(LD, (*batch, size, size))
    wide = op.expand(op.cast(pivots, torch.int64), (*batch, size))
    no = op.expand(op.scalar(False), batch)
    firsts = op.expand(op.scalar(False), (*batch, size))
    solving = _Solving(op, matrix, wide, size)
    half, firsts, _ = turns(op, size, [start, firsts, no], solving.forwards)
    return turns(op, size, [half], solving.backwards(firsts))[0]


class _Solving:
    """L and D on the way down, L' on the way up."""

    def __init__(self, op: Emitter, matrix: ir.Value, pivots: ir.Value, size: Size) -> None:
        self.matrix, self.pivots = matrix, pivots
        self.rows = places(op, size)
        self.last = op.scalar(size - 1, torch.int64)

    def forwards(
        self, body: Emitter, k: ir.Value, carried: Sequence[ir.Value]
    ) -> Sequence[ir.Value]:
        x, firsts, second = carried
        pivot = column_of(body, self.pivots, k)
        two = body.And(body.Less(pivot, 0), body.Not(second))
        other = body.Sub(body.Abs(pivot), 1)
        home = body.Where(two, body.Add(k, 1), k)
        moved = rows_at(body, x, _exchange(body, self.rows, home, other))
        done = body.Where(_spread(body, two), self._two(body, k, moved), self._one(body, k, moved))
        here = body.Equal(self.rows, k)
        return [
            body.Where(_spread(body, second), x, done),
            body.Or(firsts, body.And(here, down(body, two))),
            two,
        ]

    def _one(self, body: Emitter, k: ir.Value, x: ir.Value) -> ir.Value:
        column = column_of(body, self.matrix, k)
        row = across(body, row_of(body, x, k))
        after = down(body, body.Greater(self.rows, k))
        rest = body.Where(after, body.Sub(x, body.Mul(down(body, column), row)), x)
        own = body.Div(row, _spread(body, column_of(body, column, k)))
        return body.Where(down(body, body.Equal(self.rows, k)), own, rest)

    def _two(self, body: Emitter, k: ir.Value, x: ir.Value) -> ir.Value:
        following = body.Min(body.Add(k, 1), self.last)
        first, other = (column_of(body, self.matrix, at) for at in (k, following))
        one, two = (across(body, row_of(body, x, at)) for at in (k, following))
        after = down(body, body.Greater(self.rows, body.Add(k, 1)))
        less = body.Add(body.Mul(down(body, first), one), body.Mul(down(body, other), two))
        rest = body.Where(after, body.Sub(x, less), x)
        between = _spread(body, column_of(body, first, following))
        a = body.Div(_spread(body, column_of(body, first, k)), between)
        b = body.Div(_spread(body, column_of(body, other, following)), between)
        below = body.Sub(body.Mul(a, b), 1.0)
        c, d = body.Div(one, between), body.Div(two, between)
        upper = body.Div(body.Sub(body.Mul(b, c), d), below)
        lower = body.Div(body.Sub(body.Mul(a, d), c), below)
        rest = body.Where(down(body, body.Equal(self.rows, k)), upper, rest)
        return body.Where(down(body, body.Equal(self.rows, following)), lower, rest)

    def backwards(self, firsts: ir.Value) -> Any:
        def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
            """A block of two is undone in the turn of its first column, which comes last."""
            (x,) = carried
            k = body.Sub(self.last, turn)
            following = body.Min(body.Add(k, 1), self.last)
            pivot = column_of(body, self.pivots, k)
            first = column_of(body, firsts, k)
            second = body.And(body.Less(pivot, 0), body.Not(first))
            alone = self._gathered(body, k, k, x)
            both = self._gathered(body, k, following, self._gathered(body, following, following, x))
            summed = body.Where(_spread(body, first), both, alone)
            home = body.Where(first, body.Add(k, 1), k)
            other = body.Sub(body.Abs(pivot), 1)
            moved = rows_at(body, summed, _exchange(body, self.rows, home, other))
            return [body.Where(_spread(body, second), x, moved)]

        return step

    def _gathered(self, body: Emitter, k: ir.Value, start: ir.Value, x: ir.Value) -> ir.Value:
        """Row k without what the rows behind `start` have of its column."""
        after, zero = body.Greater(self.rows, start), body.scalar(0, body.dtype(x))
        column = body.Where(after, column_of(body, self.matrix, k), zero)
        # Both without the rest: nothing times infinity is not nothing.
        behind = body.Where(down(body, after), x, zero)
        share = body.MatMul(across(body, column), behind)
        return body.Where(down(body, body.Equal(self.rows, k)), body.Sub(x, share), x)
