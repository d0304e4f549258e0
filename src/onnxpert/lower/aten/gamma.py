"""The logarithm of the gamma function, its derivatives and the zeta function, in float64."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.special import polynomial
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import floating
from onnxpert.lower.shapes import broadcast

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar

# Asymptotic series in 1 / x**2, highest power first; from x = _FAR on they are good to float64.
_FAR = 10
_LGAMMA = (-3617 / 122400, 1 / 156, -691 / 360360, 1 / 1188, -1 / 1680, 1 / 1260, -1 / 360, 1 / 12)
_DIGAMMA = (1 / 12, -691 / 32760, 1 / 132, -1 / 240, 1 / 252, -1 / 120, 1 / 12)
_TRIGAMMA = (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6)


def _wide(op: Emitter, x: ir.Value) -> tuple[ir.Value, torch.dtype]:
    (value,) = floating(op, x)
    return op.cast(value, torch.float64), op.dtype(value)


def _sine(op: Emitter, x: ir.Value) -> ir.Value:
    """sin(pi * x), exactly 0 at whole numbers."""
    part = op.Sub(x, op.Mul(op.Round(op.Mul(x, 0.5)), 2.0))
    part = op.Where(op.Greater(op.Abs(part), 0.5), op.Sub(op.Sign(part), part), part)
    return op.Sin(op.Mul(part, math.pi))


def _cosine(op: Emitter, x: ir.Value) -> ir.Value:
    return _sine(op, op.Add(x, 0.5))


@lowering(aten.lgamma.default, aten.special_gammaln.default)
def lgamma(op: Emitter, x: ir.Value) -> ir.Value:
    wide, dtype = _wide(op, x)
    mirrored = op.Less(wide, 0.5)
    result = _lgamma_above(op, op.Where(mirrored, op.Sub(1.0, wide), wide))
    # gamma(x) * gamma(1 - x) = pi / sin(pi * x)
    other = op.Sub(math.log(math.pi), op.Log(op.Abs(_sine(op, wide))))
    result = op.Where(mirrored, op.Sub(other, result), result)
    # Exactly 0 at both, as in torch: somebody may divide by it, or ask for its sign.
    zero = op.Or(op.Equal(wide, 1.0), op.Equal(wide, 2.0))
    return op.cast(op.Where(zero, op.scalar(0.0, torch.float64), result), dtype)


def _lgamma_above(op: Emitter, x: ir.Value) -> ir.Value:
    """For x >= 0.5: moved up to where the series holds, and back by the product on the way."""
    small = op.Less(x, float(_FAR))
    near = op.Min(x, float(_FAR))
    way = near
    for step in range(1, _FAR):
        way = op.Mul(way, op.Add(near, float(step)))
    far = op.Where(small, op.Add(x, float(_FAR)), x)
    inverse = op.Reciprocal(far)
    series = op.Mul(polynomial(op, op.Mul(inverse, inverse), _LGAMMA), inverse)
    start = op.Sub(op.Mul(op.Sub(far, 0.5), op.Log(far)), far)
    start = op.Where(op.IsInf(far), far, start)
    result = op.Add(op.Add(start, 0.5 * math.log(2 * math.pi)), series)
    return op.Where(small, op.Sub(result, op.Log(way)), result)


@lowering(aten.digamma.default, aten.special_digamma.default, aten.special_psi.default)
def digamma(op: Emitter, x: ir.Value) -> ir.Value:
    wide, dtype = _wide(op, x)
    mirrored = op.Less(wide, 0.5)
    result = _digamma_above(op, op.Where(mirrored, op.Sub(1.0, wide), wide))
    turn = op.Div(op.Mul(_cosine(op, wide), math.pi), _sine(op, wide))
    result = op.Where(mirrored, op.Sub(result, turn), result)
    # At 0 there is a side to come from, at the whole numbers below there is none.
    below = op.And(op.Less(wide, 0.0), op.Equal(wide, op.Floor(wide)))
    result = op.Where(below, op.scalar(math.nan, torch.float64), result)
    pole = op.Neg(op.Reciprocal(wide))
    return op.cast(op.Where(op.Equal(wide, 0.0), pole, result), dtype)


def _digamma_above(op: Emitter, x: ir.Value) -> ir.Value:
    small = op.Less(x, float(_FAR))
    way = op.Reciprocal(x)
    for step in range(1, _FAR):
        way = op.Add(way, op.Reciprocal(op.Add(x, float(step))))
    far = op.Where(small, op.Add(x, float(_FAR)), x)
    inverse = op.Reciprocal(far)
    square = op.Mul(inverse, inverse)
    series = op.Mul(polynomial(op, square, _DIGAMMA), square)
    result = op.Sub(op.Sub(op.Log(far), op.Mul(inverse, 0.5)), series)
    return op.Where(small, op.Sub(result, way), result)


@lowering(aten.polygamma.default)
def polygamma(op: Emitter, n: int, x: ir.Value) -> ir.Value:
    if n == 0:
        return digamma(op, x)
    if n == 1:
        return _trigamma(op, x)
    sign = 1.0 if n % 2 else -1.0
    wide, dtype = _wide(op, x)
    order = op.scalar(float(n + 1), torch.float64)
    return op.cast(op.Mul(_zeta(op, order, wide), sign * math.factorial(n)), dtype)


@lowering(aten.special_polygamma.default)
def special_polygamma(op: Emitter, n: int, x: ir.Value) -> ir.Value:
    return polygamma(op, n, x)


def _trigamma(op: Emitter, x: ir.Value) -> ir.Value:
    wide, dtype = _wide(op, x)
    mirrored = op.Less(wide, 0.5)
    result = _trigamma_above(op, op.Where(mirrored, op.Sub(1.0, wide), wide))
    ratio = op.Div(op.scalar(math.pi, torch.float64), _sine(op, wide))
    return op.cast(op.Where(mirrored, op.Sub(op.Mul(ratio, ratio), result), result), dtype)


def _trigamma_above(op: Emitter, x: ir.Value) -> ir.Value:
    small = op.Less(x, float(_FAR))
    way = op.scalar(0.0, torch.float64)
    for step in range(_FAR):
        part = op.Reciprocal(op.Add(x, float(step)))
        way = op.Add(way, op.Mul(part, part))
    far = op.Where(small, op.Add(x, float(_FAR)), x)
    inverse = op.Reciprocal(far)
    square = op.Mul(inverse, inverse)
    series = op.Mul(polynomial(op, square, _TRIGAMMA), op.Mul(square, inverse))
    result = op.Add(op.Add(inverse, op.Mul(square, 0.5)), series)
    return op.Where(small, op.Add(result, way), result)


# ---- Hurwitz' zeta function ----------------------------------------------------------------

# Bernoulli's numbers of even order, each over the factorial of its order.
_BERNOULLI = (
    1 / 12, -1 / 720, 1 / 30240, -1 / 1209600, 1 / 47900160, -691 / 1307674368000,
    1 / 74724249600, -3617 / 10670622842880000, 43867 / 5109094217170944000,
    -174611 / 802857662698291200000,
)  # fmt: skip


@lowering(aten.special_zeta.default, aten.special_zeta.self_scalar, aten.special_zeta.other_scalar)
def zeta(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    order, start = floating(op, x, other)
    wide = (op.cast(value, torch.float64) for value in (order, start))
    return op.cast(_zeta(op, *wide), op.dtype(order))


def _zeta(op: Emitter, s: ir.Value, q: ir.Value) -> ir.Value:
    """The sum of (q + k) ** -s over all k, by Euler's and Maclaurin's formula from q + n >= 10 on."""
    count = op.Ceil(op.Sub(float(_FAR), op.reduce("ReduceMin", q, [], False)))
    count = op.Clip(count, float(_FAR), 1e6)
    steps = op.Range(
        op.scalar(0, torch.int64), op.cast(count, torch.int64), op.scalar(1, torch.int64)
    )
    places = op.Add(op.unsqueeze(q, -1), op.cast(steps, torch.float64))
    terms = op.Pow(places, op.unsqueeze(op.Neg(s), -1))
    shape = broadcast(op.shape(s), op.shape(q))
    # Counted from the front: ONNX Runtime takes -1 wrongly where there is nothing to sum.
    total = op.describe(op.ReduceSum(terms, [len(shape)], keepdims=0), shape)
    far = op.Add(q, count)
    power = op.Pow(far, op.Neg(s))
    total = op.Add(total, op.Div(op.Mul(power, far), op.Sub(s, 1.0)))
    total = op.Add(total, op.Mul(power, 0.5))
    rising = op.Div(op.Mul(s, power), far)
    for index, number in enumerate(_BERNOULLI):
        total = op.Add(total, op.Mul(rising, number))
        factor = op.Mul(op.Add(s, 2.0 * index + 1), op.Add(s, 2.0 * index + 2))
        rising = op.Div(op.Mul(rising, factor), op.Mul(far, far))
    return _where_defined(op, s, q, total)


def _where_defined(op: Emitter, s: ir.Value, q: ir.Value, total: ir.Value) -> ir.Value:
    nothing, infinity = (op.scalar(value, torch.float64) for value in (math.nan, math.inf))
    below = op.LessOrEqual(q, 0.0)
    total = op.Where(op.And(below, op.Not(op.Equal(s, op.Floor(s)))), nothing, total)
    total = op.Where(op.And(below, op.Equal(q, op.Floor(q))), infinity, total)
    total = op.Where(op.Equal(s, 1.0), infinity, total)
    return op.Where(op.Less(s, 1.0), nothing, total)
