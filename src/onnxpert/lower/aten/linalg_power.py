"""What powers and pseudo-inverses of matrices are made of: the exponential and pinv."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import most
from onnxpert.lower.aten.linalg_rotation import eigen, singular
from onnxpert.lower.aten.linalg_triangular import real
from onnxpert.lower.aten.linalg_turns import across, down, identity, turns
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.triangle import tril
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import same

aten = torch.ops.aten
_WIDE = torch.float64
_ORDER = 16  # of the series: good to float64 for matrices of a norm below a half
_BLOCK = 4
_MOST = 1100.0  # halvings of the largest float64


# ---- the exponential -----------------------------------------------------------------------


@lowering(aten.linalg_matrix_exp.default, aten.matrix_exp.default)
def linalg_matrix_exp(op: Emitter, self: ir.Value) -> ir.Value:
    """exp(A) = exp(A / 2**s) ** (2**s), the inner one by its series; each matrix has an s."""
    real(op, self)
    dtype, wide = op.dtype(self), op.cast(self, _WIDE)
    if any(same(size, 0) for size in op.shape(self)):
        return self
    rank = op.rank(wide)
    sums = op.reduce("ReduceSum", op.Abs(wide), [rank - 2], True)
    size = op.Mul(op.reduce("ReduceMax", sums, [rank - 1], True), 2.0)
    halvings = op.Ceil(op.Div(op.Log(op.Max(size, 1.0)), math.log(2)))
    known = op.LessOrEqual(halvings, _MOST)  # neither infinite nor NaN
    halvings = op.Where(known, halvings, op.scalar(0.0, _WIDE))
    result = _series(op, op.Div(wide, op.Pow(op.scalar(2.0, _WIDE), halvings)))

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        (power,) = carried
        more = body.Less(body.cast(turn, _WIDE), halvings)
        return [body.Where(more, body.MatMul(power, power), power)]

    longest = op.reduce("ReduceMax", halvings, [], False)
    return op.cast(turns(op, op.cast(longest, torch.int64), [result], step)[0], dtype)


def _series(op: Emitter, x: ir.Value) -> ir.Value:
    """The sum of x**k / k!, in blocks of powers that are made once."""
    size = op.shape(x)[-1]
    powers = [identity(op, size, size, _WIDE), x]
    while len(powers) <= _BLOCK:
        powers.append(op.MatMul(powers[-1], x))
    total: Any = op.Mul(powers[0], 1 / math.factorial(_ORDER))
    for start in range(_ORDER - _BLOCK, -1, -_BLOCK):
        total = op.MatMul(powers[_BLOCK], total)
        for exponent in range(_BLOCK):
            term = op.Mul(powers[exponent], 1 / math.factorial(start + exponent))
            total = op.Add(total, term)
    return total


# ---- the pseudo-inverse --------------------------------------------------------------------


@lowering(aten.linalg_pinv.atol_rtol_tensor)
def linalg_pinv(
    op: Emitter,
    self: ir.Value,
    atol: ir.Value | None = None,
    rtol: ir.Value | None = None,
    hermitian: bool = False,
) -> ir.Value:
    real(op, self)
    dtype, wide = op.dtype(self), op.cast(self, _WIDE)
    if any(same(size, 0) for size in op.shape(self)[-2:]):
        return swapped(op, self)
    if hermitian:
        whole = op.Add(tril(op, wide), swapped(op, tril(op, wide, -1)))
        values, vectors = eigen(op, whole, True)
        left, right = vectors, vectors
    else:
        left, values, right = singular(op, wide, True)
    assert left is not None
    assert right is not None
    sizes = op.Abs(values)
    largest = op.reduce("ReduceMax", sizes, [op.rank(sizes) - 1], False)
    limit = down(op, _limit(op, self, largest, atol, rtol))
    inverse = op.Where(op.Greater(sizes, limit), op.Reciprocal(values), op.scalar(0.0, _WIDE))
    product = op.MatMul(op.Mul(right, across(op, inverse)), swapped(op, left))
    return op.cast(product, dtype)


def _limit(
    op: Emitter, x: ir.Value, largest: ir.Value, atol: ir.Value | None, rtol: ir.Value | None
) -> ir.Value:
    """Below which a singular value counts as none."""
    *_, rows, columns = op.shape(x)
    relative: ir.Value
    if rtol is not None:
        relative = op.cast(rtol, _WIDE)
    else:
        longer = op.scalar(most(rows, columns), _WIDE)
        relative = op.Mul(longer, torch.finfo(op.dtype(x)).eps)
    if atol is None:
        return op.Mul(relative, largest)
    absolute = op.cast(atol, _WIDE)
    if rtol is None:
        zero = op.scalar(0.0, _WIDE)
        relative = op.Where(op.Greater(absolute, zero), zero, relative)
    return op.Max(absolute, op.Mul(relative, largest))


@lowering(aten._linalg_check_errors.default)
def linalg_check_errors(op: Emitter, info: ir.Value, api_name: str, is_matrix: bool) -> None:
    """torch raises for a matrix it cannot factor; a file has no way to, and goes on with NaN."""
