"""Division and what is left of it, with torch's signs."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.rounding import trunc
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, floating, promoted

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar


@lowering(
    aten.div.Tensor,
    aten.div.Scalar,
    aten.divide.Tensor,
    aten.divide.Scalar,
    aten.true_divide.Tensor,
    aten.true_divide.Scalar,
)
def div(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return call(op, "Div", *floating(op, x, other))


@lowering(
    aten.div.Tensor_mode, aten.div.Scalar_mode, aten.divide.Tensor_mode, aten.divide.Scalar_mode
)
def div_mode(op: Emitter, x: Operand, other: Operand, rounding_mode: str | None = None) -> ir.Value:
    if rounding_mode is None:
        return div(op, x, other)
    if rounding_mode == "floor":
        return floor_divide(op, x, other)
    if rounding_mode != "trunc":
        raise Refusal(f"there is no rounding mode {rounding_mode!r}")
    a, b = promoted(op, x, other)
    quotient = call(op, "Div", a, b)  # of integers it is towards zero already
    return trunc(op, quotient)


@lowering(aten.floor_divide.default, aten.floor_divide.Scalar)
def floor_divide(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    a, b = promoted(op, x, other)
    dtype = op.dtype(a)
    if not dtype.is_floating_point:
        return _floored_integers(op, a, b)
    if isinstance(other, (int, float)) and _is_power_of_two(other):
        return call(op, "Floor", call(op, "Div", a, b))
    return _floored_floats(op, a, b, zero_divides=not _is_nonzero(other))


def _floored_integers(op: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    dtype = op.dtype(a)
    if not dtype.is_signed:
        return call(op, "Div", a, b)
    if dtype.itemsize < 4:  # the difference below may leave the narrow range
        a, b = op.cast(a, torch.int32), op.cast(b, torch.int32)
    # ONNX divides towards zero, but what its Mod leaves has the divisor's sign.
    return op.cast(op.Div(op.Sub(a, op.Mod(a, b)), b), dtype)


def _floored_floats(op: Emitter, a: ir.Value, b: ir.Value, zero_divides: bool) -> ir.Value:
    """By way of the exact remainder: 1.0 // 0.1 is 9, though 1.0 / 0.1 rounds to 10."""
    rest = call(op, "Mod", a, b, fmod=1)
    quotient = op.Div(op.Sub(a, rest), b)
    quotient = op.Sub(quotient, op.cast(_signs_differ(op, rest, b), op.dtype(a)))
    whole = call(op, "Round", quotient)
    if not zero_divides:
        return whole
    return chosen(op, call(op, "Equal", b, 0), op.Div(a, b), whole)


def _signs_differ(op: Emitter, rest: ir.Value, divisor: ir.Value) -> ir.Value:
    """Whether there is a rest, of the other sign than the divisor."""
    negative = call(op, "Less", rest, 0)
    number = divisor.const_value.numpy() if divisor.const_value is not None else None
    if number is not None and number.size == 1 and number.item() > 0:
        return negative
    differ = op.Xor(negative, call(op, "Less", divisor, 0))
    return op.And(differ, op.Not(call(op, "Equal", rest, 0)))


@lowering(aten.remainder.Tensor, aten.remainder.Scalar, aten.remainder.Scalar_Tensor)
def remainder(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    """What is left has the divisor's sign."""
    a, b = promoted(op, x, other)
    if not op.dtype(a).is_floating_point:
        return call(op, "Mod", a, b)
    rest = call(op, "Mod", a, b, fmod=1)
    return chosen(op, _signs_differ(op, rest, b), op.Add(rest, b), rest)


@lowering(aten.fmod.Tensor, aten.fmod.Scalar)
def fmod(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    """What is left has the dividend's sign."""
    return call(op, "Mod", *promoted(op, x, other), fmod=1)


def _is_nonzero(number: Operand) -> bool:
    return isinstance(number, (int, float)) and number != 0


def _is_power_of_two(number: float) -> bool:
    return number != 0 and abs(torch.frexp(torch.tensor(float(number)))[0].item()) == 0.5
