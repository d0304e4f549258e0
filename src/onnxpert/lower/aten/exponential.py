"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.arithmetic import multiplied
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.logarithms import to_base
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, everywhere, floating, promoted

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar


@lowering(aten.pow.Tensor_Tensor, aten.pow.Tensor_Scalar, aten.pow.Scalar)
def pow(op: Emitter, x: Operand, exponent: Operand) -> ir.Value:
    base, power = promoted(op, x, exponent)
    if not op.dtype(base).is_floating_point:
        return _integer_power(op, base, power, exponent)
    short = _short_power(op, base, exponent)
    return call(op, "Pow", base, power) if short is None else short


def _short_power(op: Emitter, base: ir.Value, exponent: Operand) -> ir.Value | None:
    """The powers that have an operator of their own; torch takes the same ways.

    A square stays a Pow: it is as quick, and runtimes look for it when they fuse norms."""
    if not isinstance(exponent, (int, float)):
        return None
    if exponent == 1:
        return base
    if exponent == 0.5:
        return call(op, "Sqrt", base)
    if exponent == -0.5:
        return call(op, "Div", 1.0, call(op, "Sqrt", base))
    if exponent == -1:
        return call(op, "Reciprocal", base)
    return None


def _integer_power(op: Emitter, base: ir.Value, power: ir.Value, given: Operand) -> ir.Value:
    if isinstance(given, int) and 0 <= given <= 64:  # products wrap around as torch's do
        return _repeated(op, base, given)
    result = call(op, "Pow", base, power)
    # A negative power of zero is no number; torch says 0.
    impossible = op.And(call(op, "Equal", base, 0), call(op, "Less", power, 0))
    return chosen(op, impossible, op.scalar(0, op.dtype(base)), result)


def _repeated(op: Emitter, base: ir.Value, times: int) -> ir.Value:
    if times == 0:
        return everywhere(op, 1, op.dtype(base), base)
    if times == 1:
        return base
    half = _repeated(op, base, times // 2)
    squared = multiplied(op, half, half)
    return multiplied(op, squared, base) if times % 2 else squared


@lowering(aten.float_power.Tensor_Tensor, aten.float_power.Tensor_Scalar, aten.float_power.Scalar)
def float_power(op: Emitter, x: Operand, exponent: Operand) -> ir.Value:
    return op.Pow(*promoted(op, x, exponent, dtype=torch.float64))


@lowering(aten.sqrt.default)
def sqrt(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Sqrt", *floating(op, x))


@lowering(aten.rsqrt.default)
def rsqrt(op: Emitter, x: ir.Value) -> ir.Value:
    # Not a Reciprocal: ONNX Runtime fuses an RMS norm only when it is written as a division.
    return call(op, "Div", 1.0, sqrt(op, x))


@lowering(aten.exp.default)
def exp(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Exp", *floating(op, x))


@lowering(aten.exp2.default, aten.special_exp2.default)
def exp2(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    return call(op, "Pow", op.scalar(2.0, op.dtype(value)), value)


@lowering(aten.expm1.default, aten.special_expm1.default)
def expm1(op: Emitter, x: ir.Value) -> ir.Value:
    # exp(x) - 1 = tanh(x / 2) * (exp(x) + 1), which loses nothing near zero.
    (value,) = floating(op, x)
    tanh = call(op, "Tanh", call(op, "Mul", value, 0.5))
    return call(op, "Mul", tanh, call(op, "Add", call(op, "Exp", value), 1.0))


@lowering(aten.log.default)
def log(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Log", *floating(op, x))


@lowering(aten.log2.default)
def log2(op: Emitter, x: ir.Value) -> ir.Value:
    # In float64, so that the logarithm of a power of two is a whole number: models round it down.
    (value,) = floating(op, x)
    if op.dtype(value) is torch.float64:
        return to_base(op, 2, value)
    natural = op.Log(op.cast(value, torch.float64))
    return op.cast(op.Mul(natural, 1 / math.log(2)), op.dtype(value))


@lowering(aten.log10.default)
def log10(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    if op.dtype(value) is torch.float64:
        return to_base(op, 10, value)
    return call(op, "Mul", log(op, value), 1 / math.log(10))


@lowering(aten.log1p.default, aten.special_log1p.default)
def log1p(op: Emitter, x: ir.Value) -> ir.Value:
    """log(1 + x), with the digits of x that 1 + x has no room for put back (Kahan)."""
    (value,) = floating(op, x)
    above = call(op, "Add", value, 1.0)
    kept = call(op, "Sub", above, 1.0)
    plain = call(op, "Log", above)
    mended = call(op, "Mul", plain, call(op, "Div", value, kept))
    result = chosen(op, call(op, "Equal", kept, value), plain, mended)
    return chosen(op, call(op, "Equal", kept, 0.0), value, result)


@lowering(aten.logaddexp.default)
def logaddexp(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    a, b = floating(op, x, other)
    gap = call(op, "Neg", call(op, "Abs", call(op, "Sub", a, b)))
    result = call(op, "Add", call(op, "Max", a, b), log1p(op, call(op, "Exp", gap)))
    # Of two equal infinities the gap is no number.
    return chosen(op, call(op, "Equal", a, b), call(op, "Add", a, math.log(2)), result)


@lowering(aten.logaddexp2.default)
def logaddexp2(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    a, b = floating(op, x, other)
    gap = call(op, "Neg", call(op, "Abs", call(op, "Sub", a, b)))
    more = call(op, "Mul", log1p(op, exp2(op, gap)), 1 / math.log(2))
    result = call(op, "Add", call(op, "Max", a, b), more)
    return chosen(op, call(op, "Equal", a, b), call(op, "Add", a, 1.0), result)


@lowering(
    aten.xlogy.Tensor,
    aten.xlogy.Scalar_Self,
    aten.xlogy.Scalar_Other,
    aten.special_xlogy.default,
    aten.special_xlogy.self_scalar,
    aten.special_xlogy.other_scalar,
)
def xlogy(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    a, b = floating(op, x, other)
    return _times(op, a, b, call(op, "Log", b))


@lowering(
    aten.special_xlog1py.default,
    aten.special_xlog1py.self_scalar,
    aten.special_xlog1py.other_scalar,
)
def xlog1py(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    a, b = floating(op, x, other)
    return _times(op, a, b, log1p(op, b))


def _times(op: Emitter, x: ir.Value, y: ir.Value, logarithm: ir.Value) -> ir.Value:
    """x * log(y), where zero times anything but NaN is zero."""
    result = chosen(
        op, call(op, "Equal", x, 0.0), op.scalar(0.0, op.dtype(x)), op.Mul(x, logarithm)
    )
    return chosen(op, call(op, "IsNaN", y), y, result)


@lowering(aten.special_entr.default)
def entr(op: Emitter, x: ir.Value) -> ir.Value:
    """-x * log(x), 0 at zero, minus infinity below."""
    (value,) = floating(op, x)
    zero = op.scalar(0.0, op.dtype(value))
    product = call(op, "Neg", call(op, "Mul", value, call(op, "Log", value)))
    below = chosen(op, call(op, "Less", value, 0.0), op.scalar(-math.inf, op.dtype(value)), product)
    return chosen(op, call(op, "Equal", value, 0.0), zero, below)


@lowering(aten.ldexp.Tensor)
def ldexp(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    a, b = floating(op, x, other)
    return call(op, "Mul", a, exp2(op, b))


@lowering(aten.frexp.Tensor)
def frexp(op: Emitter, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """A fraction of [0.5, 1) and the power of two that makes up for it."""
    wide = op.cast(x, torch.float64)
    size = op.Abs(wide)
    finite = op.And(op.Greater(size, 0.0), op.Less(size, math.inf))
    size = chosen(op, finite, size, op.scalar(0.5, torch.float64))
    exponent = op.Ceil(op.Mul(op.Log(size), 1 / math.log(2)))
    # The logarithm may be off by its last digit, which matters at the powers of two.
    half = op.Div(size, op.Pow(op.scalar(2.0, torch.float64), exponent))
    exponent = op.Add(exponent, op.cast(op.GreaterOrEqual(half, 1.0), torch.float64))
    exponent = op.Sub(exponent, op.cast(op.Less(half, 0.5), torch.float64))
    fraction = op.Div(wide, op.Pow(op.scalar(2.0, torch.float64), exponent))
    fraction = chosen(op, finite, fraction, wide)
    return op.cast(fraction, op.dtype(x)), op.cast(exponent, torch.int32)


@lowering(aten.logit.default, aten.special_logit.default)
def logit(op: Emitter, x: ir.Value, eps: float | None = None) -> ir.Value:
    (value,) = floating(op, x)
    if eps is not None:
        low, high = (op.scalar(bound, op.dtype(value)) for bound in (eps, 1 - eps))
        # One bound after the other, as torch asks: an eps beyond a half makes them change places.
        below = chosen(op, call(op, "Greater", value, high), high, value)
        value = chosen(op, call(op, "Less", value, low), low, below)
    return call(
        op, "Log", call(op, "Div", value, call(op, "Sub", op.scalar(1.0, op.dtype(value)), value))
    )
