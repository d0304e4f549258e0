"""Householder's reflections: QR and what is made of its compact form."""

# ruff: noqa: N803  parameters are named as ATen's schemas name them

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import least
from onnxpert.lower.aten.linalg_triangular import real
from onnxpert.lower.aten.linalg_turns import (
    across,
    column_of,
    down,
    identity,
    leading,
    places,
    turns,
)
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.triangle import triu
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten
Pair = tuple[ir.Value, ir.Value]


def reflected(op: Emitter, x: ir.Value) -> Pair:
    """R above the diagonal and the vectors of the reflections below it, and their factors.

    Signs are LAPACK's: the diagonal of R is of the other sign than what it was made of, and a
    column that has nothing below the diagonal is left alone."""
    *batch, height, width = op.shape(x)
    dtype, number = op.dtype(x), least(height, width)
    rows, columns, steps = (places(op, size) for size in (height, width, number))

    def step(body: Emitter, k: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        matrix, factors = carried
        zero, one = body.scalar(0, dtype), body.scalar(1, dtype)
        column = column_of(body, matrix, k)
        head = down(body, column_of(body, column, k))
        below = body.Greater(rows, k)
        tail = body.Where(below, column, zero)
        squares = body.reduce("ReduceSum", body.Mul(tail, tail), [body.rank(tail) - 1], True)
        length = body.Sqrt(body.Add(body.Mul(head, head), squares))
        some = body.Greater(squares, zero)
        end = body.Where(body.Less(head, zero), length, body.Neg(length))
        factor = body.Div(body.Sub(end, head), body.Where(some, end, one))
        factor = body.Where(some, factor, zero)
        tail = body.Div(tail, body.Where(some, body.Sub(head, end), one))
        vector = body.Where(body.Equal(rows, k), one, tail)
        share = body.MatMul(across(body, vector), matrix)
        turned = body.Mul(body.Mul(down(body, factor), down(body, vector)), share)
        matrix = body.Where(body.Greater(columns, k), body.Sub(matrix, turned), matrix)
        made = body.Where(below, tail, column)
        made = body.Where(body.Equal(rows, k), body.Where(some, end, head), made)
        return [
            body.Where(body.Equal(columns, k), down(body, made), matrix),
            body.Where(body.Equal(steps, k), factor, factors),
        ]

    none = op.expand(op.scalar(0, dtype), (*batch, number))
    matrix, factors = turns(op, number, [x, none], step)
    return matrix, factors


def applied(
    op: Emitter, vectors: ir.Value, factors: ir.Value, x: ir.Value, *, backwards: bool = True
) -> ir.Value:
    """Q X, or (not backwards) Q' X, of the reflections in compact form."""
    dtype, number = op.dtype(x), op.shape(factors)[-1]
    rows = places(op, op.shape(vectors)[-2])

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        (result,) = carried
        k = body.Sub(op.scalar(number - 1, torch.int64), turn) if backwards else turn
        tail = body.Where(body.Greater(rows, k), column_of(body, vectors, k), body.scalar(0, dtype))
        vector = body.Where(body.Equal(rows, k), body.scalar(1, dtype), tail)
        share = body.MatMul(across(body, vector), result)
        factor = down(body, down(body, column_of(body, factors, k)))
        return [body.Sub(result, body.Mul(body.Mul(factor, down(body, vector)), share))]

    return turns(op, number, [x], step)[0]


def orthogonal(op: Emitter, vectors: ir.Value, factors: ir.Value, columns: Size) -> ir.Value:
    """The first so many columns of Q."""
    *batch, height, _ = op.shape(vectors)
    start = identity(op, height, columns, op.dtype(vectors))
    return applied(op, vectors, factors, op.expand(start, (*batch, height, columns)))


@lowering(aten.geqrf.default)
def geqrf(op: Emitter, self: ir.Value) -> Pair:
    real(op, self)
    return reflected(op, self)


@lowering(aten.linalg_householder_product.default, aten.orgqr.default)
def linalg_householder_product(op: Emitter, input: ir.Value, tau: ir.Value) -> ir.Value:
    real(op, input, tau)
    return orthogonal(op, input, tau, op.shape(input)[-1])


@lowering(aten.ormqr.default)
def ormqr(
    op: Emitter,
    self: ir.Value,
    input2: ir.Value,
    input3: ir.Value,
    left: bool = True,
    transpose: bool = False,
) -> ir.Value:
    real(op, self, input2, input3)
    if left:
        return applied(op, self, input2, input3, backwards=not transpose)
    return swapped(op, applied(op, self, input2, swapped(op, input3), backwards=transpose))


@lowering(aten.linalg_qr.default)
def linalg_qr(op: Emitter, A: ir.Value, mode: str = "reduced") -> Pair:
    real(op, A)
    *_, height, width = op.shape(A)
    vectors, factors = reflected(op, A)
    if mode == "complete":
        return orthogonal(op, vectors, factors, height), triu(op, vectors)
    number = least(height, width)
    triangle = triu(op, leading(op, vectors, number, -2))
    if mode == "r":
        return op.const(torch.empty(0, dtype=op.dtype(A))), triangle
    return orthogonal(op, vectors, factors, number), triangle
