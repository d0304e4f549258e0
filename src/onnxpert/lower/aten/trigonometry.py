"""Trigonometric and hyperbolic functions; in float64 by way of those that runtimes have for it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.exponential import log1p
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, floating

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar


def is_double(op: Emitter, x: ir.Value) -> bool:
    """float64, for which ONNX Runtime has Sin, Cos, Tanh, Exp and Log, but none of the others."""
    return op.dtype(x) is torch.float64


@lowering(aten.sin.default)
def sin(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Sin", *floating(op, x))


@lowering(aten.cos.default)
def cos(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Cos", *floating(op, x))


@lowering(aten.tan.default)
def tan(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    return op.Div(op.Sin(value), op.Cos(value)) if is_double(op, value) else call(op, "Tan", value)


@lowering(aten.asin.default, aten.arcsin.default)
def asin(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if not is_double(op, value):
        return call(op, "Asin", value)
    leg = op.Sqrt(op.Mul(op.Sub(1.0, value), op.Add(1.0, value)))
    return _atan64(op, op.Div(value, leg))


@lowering(aten.acos.default, aten.arccos.default)
def acos(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if not is_double(op, value):
        return call(op, "Acos", value)
    ratio = op.Div(op.Sub(1.0, value), op.Add(1.0, value))
    return op.Mul(_atan64(op, op.Sqrt(ratio)), 2.0)


@lowering(aten.atan.default, aten.arctan.default)
def atan(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    return _atan64(op, value) if is_double(op, value) else call(op, "Atan", value)


def _atan64(op: Emitter, x: ir.Value) -> ir.Value:
    """The float32 angle, and the small angle that it misses."""
    x = op.Clip(x, -1e300, 1e300)  # an infinity would be lost in a difference below
    rough = op.cast(op.Atan(op.cast(x, torch.float32)), torch.float64)
    sine, cosine = op.Sin(rough), op.Cos(rough)
    rest = op.Div(op.Sub(op.Mul(x, cosine), sine), op.Add(op.Mul(x, sine), cosine))
    return op.Add(rough, rest)  # rest is at most 1e-7, and so its own arc tangent


@lowering(aten.sinh.default)
def sinh(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if not is_double(op, value):
        return call(op, "Sinh", value)
    return op.Mul(op.Tanh(value), cosh(op, value))


@lowering(aten.cosh.default)
def cosh(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if not is_double(op, value):
        return call(op, "Cosh", value)
    return op.Mul(op.Add(op.Exp(value), op.Exp(op.Neg(value))), 0.5)


@lowering(aten.asinh.default, aten.arcsinh.default)
def asinh(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if not is_double(op, value):
        return call(op, "Asinh", value)
    size = op.Abs(value)
    root = op.Sqrt(op.Add(op.Mul(size, size), 1.0))
    small = log1p(op, op.Add(size, op.Div(op.Mul(size, size), op.Add(root, 1.0))))
    large = op.Add(op.Log(size), math.log(2))  # where the square has no more room for the 1
    return op.Mul(op.Sign(value), chosen(op, op.Less(size, 1e8), small, large))


@lowering(aten.acosh.default, aten.arccosh.default)
def acosh(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if not is_double(op, value):
        return call(op, "Acosh", value)
    above = op.Sub(value, 1.0)
    root = op.Sqrt(op.Mul(above, op.Add(value, 1.0)))
    small = log1p(op, op.Add(above, root))
    large = op.Add(op.Log(value), math.log(2))
    return chosen(op, op.Less(value, 1e8), small, chosen(op, op.Less(value, 1.0), small, large))


@lowering(aten.atanh.default, aten.arctanh.default)
def atanh(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if not is_double(op, value):
        return call(op, "Atanh", value)
    ratio = op.Div(op.Mul(value, 2.0), op.Sub(1.0, value))
    return op.Mul(log1p(op, ratio), 0.5)


def is_negative(op: Emitter, x: ir.Value) -> ir.Value:
    """The sign bit of a float: 1/x tells -0 from 0, x itself the infinities."""
    return call(op, "Less", call(op, "Add", call(op, "Reciprocal", x), x), 0.0)


@lowering(aten.atan2.default, aten.arctan2.default)
def atan2(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    y, x = floating(op, x, other)
    height, width = call(op, "Abs", y), call(op, "Abs", x)
    ratio = call(op, "Div", height, width)
    # 0/0 and inf/inf have an angle all the same: that of 0 and that of 1.
    ratio = chosen(op, call(op, "Equal", height, width), call(op, "Sign", height), ratio)
    angle = atan(op, ratio)
    behind = call(op, "Sub", op.scalar(math.pi, op.dtype(y)), angle)
    angle = chosen(op, is_negative(op, x), behind, angle)
    return chosen(op, is_negative(op, y), call(op, "Neg", angle), angle)


@lowering(aten.hypot.default)
def hypot(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    a, b = floating(op, x, other)
    if not is_double(op, a):  # squares of float32 have room in float64
        legs = [op.cast(value, torch.float64) for value in (a, b)]
        return op.cast(_unless_infinite(op, legs, _root_of_squares(op, *legs)), op.dtype(a))
    long, short = op.Max(op.Abs(a), op.Abs(b)), op.Min(op.Abs(a), op.Abs(b))
    safe = chosen(op, op.Equal(long, 0.0), op.scalar(1.0, torch.float64), long)
    result = op.Mul(long, _root_of_squares(op, op.scalar(1.0, torch.float64), op.Div(short, safe)))
    return _unless_infinite(op, (a, b), result)


def _unless_infinite(op: Emitter, legs: Sequence[ir.Value], result: ir.Value) -> ir.Value:
    """A side without end has one, whatever the other is: NaN too."""
    # In float64, which ONNX Runtime's IsInf lacks before opset 20.
    infinite = op.Or(*(op.Equal(op.Abs(leg), op.scalar(math.inf, torch.float64)) for leg in legs))
    return chosen(op, infinite, op.scalar(math.inf, torch.float64), result)


def _root_of_squares(op: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    return op.Sqrt(op.Add(op.Mul(a, a), op.Mul(b, b)))


@lowering(aten.sinc.default, aten.special_sinc.default)
def sinc(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    return _sine_ratio(op, call(op, "Mul", value, math.pi))


@lowering(aten.special_spherical_bessel_j0.default)
def spherical_bessel_j0(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    ratio = _sine_ratio(op, value)
    return chosen(op, call(op, "IsInf", value), op.scalar(0.0, op.dtype(value)), ratio)


def _sine_ratio(op: Emitter, x: ir.Value) -> ir.Value:
    """sin(x) / x, 1 at zero."""
    ratio = call(op, "Div", call(op, "Sin", x), x)
    return chosen(op, call(op, "Equal", x, 0.0), op.scalar(1.0, op.dtype(x)), ratio)


@lowering(aten.deg2rad.default)
def deg2rad(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Mul", *floating(op, x), math.pi / 180)


@lowering(aten.rad2deg.default)
def rad2deg(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Mul", *floating(op, x), 180 / math.pi)


@lowering(aten.signbit.default)
def signbit(op: Emitter, x: ir.Value) -> ir.Value:
    dtype = op.dtype(x)
    if dtype.is_floating_point:
        return is_negative(op, x)
    return call(op, "Less", x, 0)


@lowering(aten.copysign.Tensor, aten.copysign.Scalar)
def copysign(op: Emitter, x: ir.Value, other: Operand) -> ir.Value:
    a, b = floating(op, x, other)
    size = call(op, "Abs", a)
    return chosen(op, is_negative(op, b), call(op, "Neg", size), size)


@lowering(aten.angle.default)
def angle(op: Emitter, x: ir.Value) -> ir.Value:
    """Of a real number: pi below zero, else 0; NaN stays."""
    (value,) = floating(op, x)
    zero, half_turn = op.scalar(0.0, op.dtype(value)), op.scalar(math.pi, op.dtype(value))
    result = chosen(op, call(op, "Less", value, 0.0), half_turn, zero)
    return chosen(op, call(op, "IsNaN", value), value, result)
