"""Comparisons, the tests for NaN and the infinities, and the larger and smaller of two."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, everywhere, floating, promoted

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar


@lowering(aten.eq.Tensor, aten.eq.Scalar)
def eq(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return call(op, "Equal", *promoted(op, x, other))


@lowering(aten.ne.Tensor, aten.ne.Scalar, aten.not_equal.Tensor, aten.not_equal.Scalar)
def ne(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return op.Not(eq(op, x, other))


@lowering(aten.lt.Tensor, aten.lt.Scalar, aten.less.Tensor, aten.less.Scalar)
def lt(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return call(op, "Less", *promoted(op, x, other))


@lowering(aten.le.Tensor, aten.le.Scalar, aten.less_equal.Tensor, aten.less_equal.Scalar)
def le(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return call(op, "LessOrEqual", *promoted(op, x, other))


@lowering(aten.gt.Tensor, aten.gt.Scalar, aten.greater.Tensor, aten.greater.Scalar)
def gt(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return call(op, "Greater", *promoted(op, x, other))


@lowering(aten.ge.Tensor, aten.ge.Scalar, aten.greater_equal.Tensor, aten.greater_equal.Scalar)
def ge(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return call(op, "GreaterOrEqual", *promoted(op, x, other))


# ---- what is not a finite number -----------------------------------------------------------


@lowering(aten.isnan.default)
def isnan(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "IsNaN", x) if _is_float(op, x) else everywhere(op, False, torch.bool, x)


@lowering(aten.isinf.default)
def isinf(op: Emitter, x: ir.Value) -> ir.Value:
    return _infinite(op, x)


@lowering(aten.isposinf.default)
def isposinf(op: Emitter, x: ir.Value) -> ir.Value:
    return _infinite(op, x, detect_negative=0)


@lowering(aten.isneginf.default)
def isneginf(op: Emitter, x: ir.Value) -> ir.Value:
    return _infinite(op, x, detect_positive=0)


def _infinite(op: Emitter, x: ir.Value, **signs: int) -> ir.Value:
    if not _is_float(op, x):
        return everywhere(op, False, torch.bool, x)
    return call(op, "IsInf", x, **signs)


@lowering(aten.isfinite.default)
def isfinite(op: Emitter, x: ir.Value) -> ir.Value:
    if not _is_float(op, x):
        return everywhere(op, True, torch.bool, x)
    return call(op, "Less", call(op, "Abs", x), math.inf)


@lowering(aten.isreal.default)
def isreal(op: Emitter, x: ir.Value) -> ir.Value:
    return everywhere(op, True, torch.bool, x)


def _is_float(op: Emitter, x: ir.Value) -> bool:
    return op.dtype(x).is_floating_point


@lowering(aten.isclose.default)
def isclose(
    op: Emitter,
    x: ir.Value,
    other: ir.Value,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> ir.Value:
    close = eq(op, x, other)
    if equal_nan and _is_float(op, x):
        close = op.Or(close, op.And(isnan(op, x), isnan(op, other)))
    if rtol == 0 and atol == 0:
        return close
    a, b = floating(op, x, other)
    allowed = call(op, "Add", call(op, "Abs", call(op, "Mul", b, rtol)), atol)
    gap = call(op, "Abs", call(op, "Sub", a, b))
    near = op.And(isfinite(op, gap), call(op, "LessOrEqual", gap, allowed))
    return op.Or(close, near)


# ---- the larger and the smaller ------------------------------------------------------------


@lowering(aten.maximum.default, aten.max.other)
def maximum(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    a, b = promoted(op, x, other)
    return op.Or(a, b) if op.dtype(a) is torch.bool else call(op, "Max", a, b)


@lowering(aten.minimum.default, aten.min.other)
def minimum(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    a, b = promoted(op, x, other)
    return op.And(a, b) if op.dtype(a) is torch.bool else call(op, "Min", a, b)


@lowering(aten.fmax.default)
def fmax(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return _unless_nan(op, maximum, *promoted(op, x, other))


@lowering(aten.fmin.default)
def fmin(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return _unless_nan(op, minimum, *promoted(op, x, other))


def _unless_nan(op: Emitter, extreme: Any, a: ir.Value, b: ir.Value) -> ir.Value:
    """Of a number and NaN, the number."""
    result: ir.Value = extreme(op, a, b)
    if not _is_float(op, a):
        return result
    result = chosen(op, call(op, "IsNaN", a), b, result)
    return chosen(op, call(op, "IsNaN", b), a, result)


@lowering(aten.clamp.default, aten.clamp.Tensor, aten.clip.default, aten.clip.Tensor)
def clamp(op: Emitter, x: ir.Value, min: Operand = None, max: Operand = None) -> ir.Value:
    dtype = op.result_type(x, min, max)
    low = None if min is None else op.scalar(min, dtype)
    high = None if max is None else op.scalar(max, dtype)
    x = op.cast(x, dtype)
    if low is not None and high is not None and op.rank(low) == 0 and op.rank(high) == 0:
        return call(op, "Clip", x, low, high)
    # With one bound, runtimes let Clip cut infinity down to the largest number.
    x = x if low is None else maximum(op, x, low)
    return x if high is None else minimum(op, x, high)


@lowering(aten.clamp_min.default, aten.clamp_min.Tensor)
def clamp_min(op: Emitter, x: ir.Value, min: Operand) -> ir.Value:
    return clamp(op, x, min)


@lowering(aten.clamp_max.default, aten.clamp_max.Tensor)
def clamp_max(op: Emitter, x: ir.Value, max: Operand) -> ir.Value:
    return clamp(op, x, None, max)


@lowering(aten.heaviside.default)
def heaviside(op: Emitter, x: ir.Value, values: ir.Value) -> ir.Value:
    a, b = promoted(op, x, values)
    step = op.cast(call(op, "Greater", a, 0), op.dtype(a))
    return chosen(op, call(op, "Equal", a, 0), b, step)
