"""What powers and pseudo-inverses of matrices are made of: the exponential and pinv."""

from __future__ import annotations

import functools
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
_MOST = 1100.0  # halvings of the largest float64
# The Taylor polynomial of degree 18 in five products, and the norm it is good to: Bader, Blanes and
# Casas, "Computing the matrix exponential with an optimized Taylor polynomial approximation" (2019).
# torch takes the same way, and float32 has few enough digits for the way to be seen in the result.
_REACH = {torch.float32: 3.010066362817634, torch.float64: 1.090863719290036}
_TAYLOR = (
    (0.0, -1.00365581030144618291e-01, -8.02924648241156932449e-03, -8.92138498045729985177e-04, 0.0),
    (0.0, 3.97849749499645077844e-01, 1.36783778460411720168e00, 4.98289622525382669416e-01, -6.37898194594723280150e-04),
    (-1.09676396052962061844e01, 1.68015813878906206114e00, 5.71779846478865511061e-02, -6.98210122488052056106e-03, 3.34975017086070470649e-05),
    (-9.04316832390810593223e-02, -6.76404519071381882256e-02, 6.75961301770459654925e-02, 2.95552570429315521194e-02, -1.39180257516060693404e-05),
    (0.0, 0.0, -9.23364619367118555360e-02, -1.69364939002081722752e-02, -1.40086798182036094347e-05),
)  # fmt: skip


# ---- the exponential -----------------------------------------------------------------------


@lowering(aten.linalg_matrix_exp.default, aten.matrix_exp.default)
def linalg_matrix_exp(op: Emitter, self: ir.Value) -> ir.Value:
    """exp(A) = exp(A / 2**s) ** (2**s), the inner one by its series; each matrix has an s."""
    dtype = op.dtype(self)
    if any(same(size, 0) for size in op.shape(self)):
        return self
    if dtype in (torch.float16, torch.bfloat16):  # torch rounds every step, and is further off
        return op.cast(linalg_matrix_exp(op, op.cast(self, torch.float32)), dtype)
    real(op, self)
    rank = op.rank(self)
    sums = op.reduce("ReduceSum", op.Abs(self), [rank - 2], True)
    size = op.cast(op.reduce("ReduceMax", sums, [rank - 1], True), _WIDE)
    ratio = op.Max(op.Div(size, _REACH[dtype]), 1.0)
    halvings = op.Ceil(op.Div(op.Log(ratio), math.log(2)))
    known = op.LessOrEqual(halvings, _MOST)  # neither infinite nor NaN
    halvings = op.Where(known, halvings, op.scalar(0.0, _WIDE))
    scale = op.cast(op.Pow(op.scalar(2.0, _WIDE), halvings), dtype)
    result = _series(op, op.Div(self, scale))

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        (power,) = carried
        more = body.Less(body.cast(turn, _WIDE), halvings)
        return [body.Where(more, body.MatMul(power, power), power)]

    longest = op.reduce("ReduceMax", halvings, [], False)
    return turns(op, op.cast(longest, torch.int64), [result], step)[0]


def _series(op: Emitter, x: ir.Value) -> ir.Value:
    """The sum of x**k / k! up to k = 18."""
    size, dtype = op.shape(x)[-1], op.dtype(x)
    square = op.MatMul(x, x)
    cube = op.MatMul(square, x)
    powers = [identity(op, size, size, dtype), x, square, cube, op.MatMul(cube, cube)]

    def sum_of(factors: Sequence[float]) -> Any:
        terms = [op.Mul(power, f) for power, f in zip(powers, factors, strict=True) if f]
        return functools.reduce(op.Add, terms)

    one, two, three, four, five = map(sum_of, _TAYLOR)
    ninth = op.Add(op.MatMul(one, five), four)
    return op.Add(two, op.MatMul(op.Add(three, ninth), ninth))


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
