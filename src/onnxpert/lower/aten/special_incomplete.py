"""The incomplete gamma functions, in float64: by a series below their middle, by a fraction above."""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.gamma import lgamma
from onnxpert.lower.aten.linalg_turns import turns
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import floating
from onnxpert.lower.shapes import broadcast

aten = torch.ops.aten
_WIDE = torch.float64
_CLOSE = 1e-16
_LONGEST = 10000  # about the square root of the order is needed, times ten
_TINY = 1e-300


def _some(body: Emitter, condition: ir.Value) -> ir.Value:
    number = body.reduce("ReduceSum", body.cast(condition, torch.int64), [], False)
    return body.Greater(number, 0)


def _series(op: Emitter, a: ir.Value, x: ir.Value) -> ir.Value:
    """The sum of x**k / ((a + 1) ... (a + k)) (Abramowitz and Stegun 6.5.29)."""
    one = op.expand(op.scalar(1.0, _WIDE), broadcast(op.shape(a), op.shape(x)))

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        total, term = carried
        k = body.cast(body.Add(turn, 1), _WIDE)
        term = body.Mul(term, body.Div(x, body.Add(a, k)))
        return [body.Add(total, term), term]

    def going(body: Emitter, carried: Sequence[ir.Value]) -> ir.Value:
        total, term = carried
        return _some(body, body.Greater(term, body.Mul(total, _CLOSE)))

    return turns(op, _LONGEST, [one, one], step, going)[0]


def _fraction(op: Emitter, a: ir.Value, x: ir.Value) -> ir.Value:
    """1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - ...)), from the front as Lentz evaluates it."""
    shape = broadcast(op.shape(a), op.shape(x))
    first = op.Add(op.Sub(x, a), 1.0)
    start = op.expand(op.Reciprocal(first), shape)
    far = op.expand(op.scalar(1 / _TINY, _WIDE), shape)

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        result, inverse, ratio, _ = carried
        k = body.cast(body.Add(turn, 1), _WIDE)
        above = body.Mul(body.Sub(a, k), k)
        below = body.Add(first, body.Mul(k, 2.0))
        inverse = body.Reciprocal(_apart(body, body.Add(body.Mul(above, inverse), below)))
        ratio = _apart(body, body.Add(body.Div(above, ratio), below))
        factor = body.Mul(inverse, ratio)
        return [body.Mul(result, factor), inverse, ratio, body.Abs(body.Sub(factor, 1.0))]

    def going(body: Emitter, carried: Sequence[ir.Value]) -> ir.Value:
        return _some(body, body.Greater(carried[3], 2 * _CLOSE))

    return turns(op, _LONGEST, [start, start, far, far], step, going)[0]


def _apart(body: Emitter, x: ir.Value) -> ir.Value:
    """Never zero, for it is divided by."""
    near = body.Less(body.Abs(x), _TINY)
    return body.Where(near, body.scalar(_TINY, _WIDE), x)


def _parts(op: Emitter, a: ir.Value, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The shares of gamma(a) below and above x, for a > 0 and x > 0."""
    below = op.Less(x, op.Add(a, 1.0))
    zero, one, two = (op.scalar(number, _WIDE) for number in (0.0, 1.0, 2.0))
    known = op.Not(op.Or(op.IsInf(a), op.IsNaN(a)))
    # Whatever is computed the other way is put where a single turn is enough.
    near = op.And(below, known)
    series = _series(op, op.Where(near, a, one), op.Where(near, x, zero))
    far = op.And(op.And(op.Not(below), known), op.Not(op.Or(op.IsInf(x), op.IsNaN(x))))
    fraction = _fraction(op, op.Where(far, a, one), op.Where(far, x, two))
    weight = op.Sub(op.Mul(a, op.Log(x)), x)
    height = lgamma(op, a)
    lower = op.Mul(op.Exp(op.Sub(weight, op.Add(height, op.Log(a)))), series)
    upper = op.Mul(op.Exp(op.Sub(weight, height)), fraction)
    return (
        op.Where(below, lower, op.Sub(1.0, upper)),
        op.Where(below, op.Sub(1.0, lower), upper),
    )


def _incomplete(op: Emitter, a: ir.Value, x: ir.Value, upper: bool) -> ir.Value:
    own_a, own_x = floating(op, a, x)
    wide, place = op.cast(own_a, _WIDE), op.cast(own_x, _WIDE)
    nan, none, all_ = (op.scalar(number, _WIDE) for number in (math.nan, 0.0, 1.0))
    if upper:
        none, all_ = all_, none
    result = _parts(op, wide, place)[int(upper)]
    result = op.Where(op.IsInf(place), all_, result)
    result = op.Where(op.IsInf(wide), op.Where(op.IsInf(place), nan, none), result)
    result = op.Where(op.Equal(place, 0.0), none, result)
    at_zero = op.Where(op.Greater(place, 0.0), all_, nan)
    result = op.Where(op.Equal(wide, 0.0), at_zero, result)
    wrong = op.Or(op.Less(wide, 0.0), op.Less(place, 0.0))
    return op.cast(op.Where(wrong, nan, result), op.dtype(own_a))


@lowering(aten.igamma.default, aten.special_gammainc.default)
def igamma(op: Emitter, self: ir.Value, other: ir.Value) -> ir.Value:
    return _incomplete(op, self, other, False)


@lowering(aten.igammac.default, aten.special_gammaincc.default)
def igammac(op: Emitter, self: ir.Value, other: ir.Value) -> ir.Value:
    return _incomplete(op, self, other, True)
