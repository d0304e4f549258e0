"""Jacobi's rotations: eigenvalues of symmetric matrices and singular values of all of them.

Half as many pairs as there are columns are turned at once, in float64, in the order of a round
robin, until there is nothing left to turn. Vectors are unique up to their sign only, and torch's
come as the sign of LAPACK's intermediate steps leaves them: here the first element of a vector that
is among its largest is made positive (which the proof makes the model choose as well)."""

# ruff: noqa: N803  parameters are named as ATen's schemas name them

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import least, most
from onnxpert.lower.aten.linalg_reflection import orthogonal, reflected
from onnxpert.lower.aten.linalg_triangular import real
from onnxpert.lower.aten.linalg_turns import (
    across,
    columns_at,
    diagonal_of,
    down,
    identity,
    leading,
    on_diagonal,
    places,
    turns,
)
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.sorting import best
from onnxpert.lower.aten.triangle import tril, triu
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, is_static, same

aten = torch.ops.aten
_WIDE = torch.float64
_SMALL = 1e-15  # what is not worth a turn, beside the columns it is between
_NOTHING = 1e-30  # and beside the square of the whole matrix
LARGE = 0.7  # beside the largest element, what counts as one of the largest
_SWEEPS = 40  # of which five to ten are needed
Pair = tuple[ir.Value, ir.Value]


def _rounds(size: Size) -> Size:
    """Of so many players each meets each in this many rounds (one sits out when they are odd)."""
    return most(2 * ((size + 1) // 2) - 1, 1)


def _partners(body: Emitter, players: ir.Value, turn: ir.Value, size: Size) -> ir.Value:
    """Whom each one meets in this round: the last stays, the others go round; itself if nobody."""
    rounds = body.scalar(_rounds(size), torch.int64)
    round_ = body.Mod(turn, rounds)
    other = body.Mod(body.Sub(round_, players), rounds)
    other = body.Where(body.Equal(other, players), rounds, other)
    # Half of a number modulo an odd one is that number times half of the next even one.
    half = body.Div(body.Add(rounds, 1), 2)
    other = body.Where(body.Equal(players, rounds), body.Mod(body.Mul(round_, half), rounds), other)
    outside = body.GreaterOrEqual(other, body.scalar(size, torch.int64))
    return body.Where(outside, players, other)


def _turn(
    body: Emitter, players: ir.Value, partners: ir.Value, own: ir.Value, between: ir.Value
) -> Pair:
    """Cosine and sine, for each column, of what makes it and its partner perpendicular.

    `own` are the squares of the columns, `between` the products of partners."""
    last = body.rank(own) - 1
    first = body.Less(players, partners)
    # Of both partners the same number is taken: rounding must not turn them differently.
    between = body.Where(first, between, body.Gather(between, partners, axis=last))
    still = body.Or(body.Equal(players, partners), body.Equal(between, 0.0))
    twice = body.Where(still, 1.0, body.Mul(between, 2.0))
    slope = body.Div(body.Sub(body.Gather(own, partners, axis=last), own), twice)
    even = body.Where(first, body.const(1.0, _WIDE), -1.0)
    side = body.Where(body.Equal(slope, 0.0), even, body.Sign(slope))
    length = body.Sqrt(body.Add(body.Mul(slope, slope), 1.0))
    tangent = body.Where(still, 0.0, body.Div(side, body.Add(body.Abs(slope), length)))
    cosine = body.Reciprocal(body.Sqrt(body.Add(body.Mul(tangent, tangent), 1.0)))
    return cosine, body.Mul(tangent, cosine)


def _turned(
    body: Emitter, x: ir.Value, partners: ir.Value, cosine: ir.Value, sine: ir.Value
) -> Any:
    """The columns of X, each turned towards its partner."""
    other = body.Gather(x, partners, axis=body.rank(x) - 1)
    return body.Sub(body.Mul(x, across(body, cosine)), body.Mul(other, across(body, sine)))


def _some(body: Emitter, condition: ir.Value) -> ir.Value:
    """Whether it holds anywhere; of nothing it does not."""
    number = body.reduce("ReduceSum", body.cast(condition, torch.int64), [], False)
    return body.Greater(number, 0)


def _squares(op: Emitter, x: ir.Value) -> ir.Value:
    rank = op.rank(x)
    return op.reduce("ReduceSum", op.Mul(x, x), [rank - 2, rank - 1], False)


def _signed(op: Emitter, vectors: ir.Value) -> ir.Value:
    """1 or -1 for each column: the sign of the first element that is among its largest.

    Of several that are equal up to rounding, none must win by its last digit."""
    axis = op.rank(vectors) - 2
    if any(same(size, 0) for size in op.shape(vectors)):
        *batch, _, width = op.shape(vectors)
        return op.expand(op.const(1.0, _WIDE), (*batch, 1, width))
    size = op.Abs(vectors)
    large = op.GreaterOrEqual(size, op.Mul(op.reduce("ReduceMax", size, [axis], True), LARGE))
    first = op.ArgMax(op.cast(large, torch.int32), axis=axis, keepdims=1)
    head = op.GatherElements(vectors, first, axis=axis)
    return op.Where(op.Less(head, 0.0), -1.0, op.const(1.0, _WIDE))


# ---- eigenvalues ---------------------------------------------------------------------------


def eigen(op: Emitter, x: ir.Value, vectors: bool) -> tuple[ir.Value, ir.Value | None]:
    """Of symmetric matrices in float64, in ascending order."""
    *batch, size, _ = op.shape(x)
    players = places(op, size)
    total = _squares(op, x)
    corner = on_diagonal(op, size, size)

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        matrix, *basis = carried
        partners = _partners(body, players, turn, size)
        meeting = body.Equal(down(body, partners), players)
        rank = body.rank(matrix)
        between = body.Where(meeting, matrix, body.scalar(0.0, _WIDE))
        between = body.reduce("ReduceSum", between, [rank - 1], False)
        cosine, sine = _turn(body, players, partners, diagonal_of(body, matrix), between)
        matrix = _turned(body, matrix, partners, cosine, sine)
        matrix = swapped(body, _turned(body, swapped(body, matrix), partners, cosine, sine))
        return [matrix, *(_turned(body, each, partners, cosine, sine) for each in basis)]

    def going(body: Emitter, carried: Sequence[ir.Value]) -> ir.Value:
        rest = body.Where(corner, body.scalar(0.0, _WIDE), carried[0])
        limit = body.Mul(total, _SMALL * _SMALL)
        return _some(body, body.Greater(_squares(body, rest), limit))

    starts = [x]
    if vectors:
        starts.append(op.expand(identity(op, size, size, _WIDE), (*batch, size, size)))
    matrix, *basis = turns(op, _SWEEPS * _rounds(size), starts, step, going)
    values, order = best(op, diagonal_of(op, matrix), size, len(batch), largest=False)
    return values, columns_at(op, basis[0], order) if vectors else None


@lowering(aten._linalg_eigh.default)
def linalg_eigh_parts(op: Emitter, A: ir.Value, UPLO: str = "L", compute_v: bool = True) -> Pair:
    real(op, A)
    dtype, wide = op.dtype(A), op.cast(A, _WIDE)
    if UPLO.upper() == "L":
        whole = op.Add(tril(op, wide), swapped(op, tril(op, wide, -1)))
    else:
        whole = op.Add(triu(op, wide), swapped(op, triu(op, wide, 1)))
    values, vectors = eigen(op, whole, compute_v)
    if vectors is None:
        return op.cast(values, dtype), op.const(torch.empty(0, dtype=dtype))
    return op.cast(values, dtype), op.cast(op.Mul(vectors, _signed(op, vectors)), dtype)


@lowering(aten.linalg_eigh.default)
def linalg_eigh(op: Emitter, self: ir.Value, UPLO: str = "L") -> Any:
    return linalg_eigh_parts(op, self, UPLO)


@lowering(aten.linalg_eigvalsh.default)
def linalg_eigvalsh(op: Emitter, self: ir.Value, UPLO: str = "L") -> Any:
    return linalg_eigh_parts(op, self, UPLO, False)[0]


# ---- singular values -----------------------------------------------------------------------


def _perpendicular(op: Emitter, x: ir.Value, vectors: bool) -> tuple[ir.Value, ir.Value | None]:
    """X V with columns perpendicular to each other, and V."""
    *batch, _, size = op.shape(x)
    players = places(op, size)
    total = op.Mul(_squares(op, x), _NOTHING)

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        quiet, matrix, *basis = carried
        partners = _partners(body, players, turn, size)
        axis = body.rank(matrix) - 2
        other = body.Gather(matrix, partners, axis=axis + 1)
        own = body.reduce("ReduceSum", body.Mul(matrix, matrix), [axis], False)
        between = body.reduce("ReduceSum", body.Mul(matrix, other), [axis], False)
        limit = body.Sqrt(body.Mul(own, body.Gather(own, partners, axis=axis)))
        limit = body.Max(body.Mul(limit, _SMALL), down(body, total))
        apart = body.And(
            body.Greater(body.Abs(between), limit), body.Not(body.Equal(players, partners))
        )
        between = body.Where(apart, between, body.scalar(0.0, _WIDE))
        cosine, sine = _turn(body, players, partners, own, between)
        turned = [_turned(body, each, partners, cosine, sine) for each in (matrix, *basis)]
        quiet = body.Where(_some(body, apart), body.scalar(0, torch.int64), body.Add(quiet, 1))
        return [quiet, *turned]

    def going(body: Emitter, carried: Sequence[ir.Value]) -> ir.Value:
        return body.Less(carried[0], body.scalar(_rounds(size), torch.int64))

    starts = [op.const(0, torch.int64), x]
    if vectors:
        starts.append(op.expand(identity(op, size, size, _WIDE), (*batch, size, size)))
    _, matrix, *basis = turns(op, _SWEEPS * _rounds(size), starts, step, going)
    return matrix, basis[0] if vectors else None


def singular(
    op: Emitter, x: ir.Value, vectors: bool, full: bool = False
) -> tuple[ir.Value | None, ir.Value, ir.Value | None]:
    """U, S and V of matrices in float64, largest first, with the signs that U decides about."""
    *_, height, width = op.shape(x)
    if is_static(height, width) and height < width:
        right, values, left = _unsigned(op, swapped(op, x), vectors, full)
    else:
        left, values, right = _unsigned(op, x, vectors, full)
    if left is None or right is None:
        return None, values, None
    sign = _signed(op, leading(op, left, least(height, width), -1))
    return _first_signed(op, left, sign), values, _first_signed(op, right, sign)


def _unsigned(
    op: Emitter, x: ir.Value, vectors: bool, full: bool
) -> tuple[ir.Value | None, ir.Value, ir.Value | None]:
    """The same, with signs that belong together."""
    *batch, height, width = op.shape(x)
    number = least(height, width)
    matrix, basis = _perpendicular(op, x, vectors)
    lengths = op.Sqrt(op.reduce("ReduceSum", op.Mul(matrix, matrix), [len(batch)], False))
    values, order = best(op, lengths, width, len(batch), largest=True)
    values = leading(op, values, number, -1)
    if basis is None:
        return None, values, None
    right = columns_at(op, basis, order)
    compact, factors = reflected(op, columns_at(op, matrix, order))
    left = orthogonal(op, compact, factors, height if full else number)
    # A reflection turns a column that is perpendicular already into itself, or into its opposite.
    head = across(op, leading(op, diagonal_of(op, compact), number, -1))
    opposite = op.Where(op.Less(head, 0.0), -1.0, op.const(1.0, _WIDE))
    left = _first_signed(op, left, opposite)
    return left, values, right if full else leading(op, right, number, -1)


def _first_signed(op: Emitter, x: ir.Value, sign: ir.Value) -> ir.Value:
    """The first columns times a sign each; there may be more columns than signs."""
    *batch, _, width = op.shape(x)
    number = op.shape(sign)[-1]
    if is_static(width, number) and width == number:
        return op.Mul(x, sign)
    rest = op.expand(op.const(1.0, _WIDE), (*batch, 1, width - number))
    return op.Mul(x, op.Concat(sign, rest, axis=op.rank(x) - 1))


@lowering(aten._linalg_svd.default)
def linalg_svd_parts(
    op: Emitter,
    A: ir.Value,
    full_matrices: bool = False,
    compute_uv: bool = True,
    driver: str | None = None,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    real(op, A)
    dtype = op.dtype(A)
    left, values, right = singular(op, op.cast(A, _WIDE), compute_uv, full_matrices)
    if left is None or right is None:
        nothing = op.const(torch.empty(0, dtype=dtype))
        return nothing, op.cast(values, dtype), nothing
    return op.cast(left, dtype), op.cast(values, dtype), op.cast(swapped(op, right), dtype)


@lowering(aten.linalg_svd.default)
def linalg_svd(
    op: Emitter, A: ir.Value, full_matrices: bool = True, driver: str | None = None
) -> Any:
    return linalg_svd_parts(op, A, full_matrices)


@lowering(aten.svd.default)
def svd(op: Emitter, self: ir.Value, some: bool = True, compute_uv: bool = True) -> Any:
    if not compute_uv:
        raise Refusal("vectors that are not asked for are torch's own zeros")
    left, values, right = linalg_svd_parts(op, self, not some)
    return left, values, swapped(op, right)


@lowering(aten.linalg_svdvals.default)
def linalg_svdvals(op: Emitter, A: ir.Value, driver: str | None = None) -> Any:
    return linalg_svd_parts(op, A, False, False)[1]
