"""Logic on truth values, logic on bits, shifts, and the choice between two."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, promoted

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar


@lowering(aten.where.self, aten.where.ScalarSelf, aten.where.ScalarOther, aten.where.Scalar)
def where(op: Emitter, condition: ir.Value, x: Operand, other: Operand) -> ir.Value:
    a, b = promoted(op, x, other)
    return chosen(op, op.cast(condition, torch.bool), a, b)


# ---- truth values --------------------------------------------------------------------------


def _truths(op: Emitter, *values: Operand) -> tuple[ir.Value, ...]:
    return promoted(op, *values, dtype=torch.bool)


@lowering(aten.logical_and.default)
def logical_and(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return op.And(*_truths(op, x, other))


@lowering(aten.logical_or.default)
def logical_or(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return op.Or(*_truths(op, x, other))


@lowering(aten.logical_xor.default)
def logical_xor(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return op.Xor(*_truths(op, x, other))


@lowering(aten.logical_not.default)
def logical_not(op: Emitter, x: ir.Value) -> ir.Value:
    return op.Not(*_truths(op, x))


# ---- bits ----------------------------------------------------------------------------------


def _bitwise(op: Emitter, truth: str, bits: str, x: Operand, other: Operand) -> ir.Value:
    a, b = promoted(op, x, other)
    return op.emit(truth if op.dtype(a) is torch.bool else bits, a, b)


@lowering(
    aten.bitwise_and.Tensor,
    aten.bitwise_and.Scalar,
    aten.bitwise_and.Scalar_Tensor,
    aten.__and__.Tensor,
    aten.__and__.Scalar,
)
def bitwise_and(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return _bitwise(op, "And", "BitwiseAnd", x, other)


@lowering(
    aten.bitwise_or.Tensor,
    aten.bitwise_or.Scalar,
    aten.bitwise_or.Scalar_Tensor,
    aten.__or__.Tensor,
    aten.__or__.Scalar,
)
def bitwise_or(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return _bitwise(op, "Or", "BitwiseOr", x, other)


@lowering(
    aten.bitwise_xor.Tensor,
    aten.bitwise_xor.Scalar,
    aten.bitwise_xor.Scalar_Tensor,
    aten.__xor__.Tensor,
    aten.__xor__.Scalar,
)
def bitwise_xor(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return _bitwise(op, "Xor", "BitwiseXor", x, other)


@lowering(aten.bitwise_not.default)
def bitwise_not(op: Emitter, x: ir.Value) -> ir.Value:
    dtype = op.dtype(x)
    if dtype is torch.bool:
        return op.Not(x)
    # All bits flipped: as a number, what is missing to all bits set. Works before opset 18 too.
    return call(op, "Sub", -1 if dtype.is_signed else torch.iinfo(dtype).max, x)


# ---- shifts --------------------------------------------------------------------------------


@lowering(
    aten.bitwise_left_shift.Tensor,
    aten.bitwise_left_shift.Tensor_Scalar,
    aten.bitwise_left_shift.Scalar_Tensor,
    aten.__lshift__.Tensor,
    aten.__lshift__.Scalar,
)
def bitwise_left_shift(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    a, by = promoted(op, x, other)
    dtype = op.dtype(a)
    if dtype.is_floating_point:
        return call(op, "Mul", a, call(op, "Pow", op.scalar(2.0, dtype), by))
    bits = dtype.itemsize * 8
    if isinstance(other, int):
        if not 0 <= other < bits:
            return op.expand(op.scalar(0, dtype), op.shape(a))
        return call(op, "Mul", a, op.scalar(_wrapped(1 << other, dtype), dtype))
    shifted = op.cast(_shifted(op, a, by, bits - 1, "LEFT"), dtype)
    return chosen(op, _in_range(op, by, bits), shifted, op.scalar(0, dtype))


@lowering(
    aten.bitwise_right_shift.Tensor,
    aten.bitwise_right_shift.Tensor_Scalar,
    aten.bitwise_right_shift.Scalar_Tensor,
    aten.__rshift__.Tensor,
    aten.__rshift__.Scalar,
)
def bitwise_right_shift(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    a, by = promoted(op, x, other)
    dtype = op.dtype(a)
    if dtype.is_floating_point:
        return call(op, "Div", a, call(op, "Pow", op.scalar(2.0, dtype), by))
    # torch shifts everything out when told to shift by a negative number, or by too much.
    bits = dtype.itemsize * 8
    in_range = _in_range(op, by, bits)
    if not dtype.is_signed:
        shifted = op.cast(_shifted(op, a, by, bits - 1, "RIGHT"), dtype)
        return chosen(op, in_range, shifted, op.scalar(0, dtype))
    # The sign moves in from the left: shift what is missing to all bits set.
    by = chosen(op, in_range, by, op.scalar(bits - 1, dtype))
    negative = call(op, "Less", a, 0)
    size = chosen(op, negative, bitwise_not(op, a), a)
    shifted = op.cast(_shifted(op, size, by, bits - 1, "RIGHT"), dtype)
    return chosen(op, negative, bitwise_not(op, shifted), shifted)


def _in_range(op: Emitter, by: ir.Value, bits: int) -> ir.Value:
    below = call(op, "Less", by, bits)
    if not op.dtype(by).is_signed:
        return below
    return op.And(call(op, "GreaterOrEqual", by, 0), below)


def _shifted(op: Emitter, a: ir.Value, by: ir.Value, most: int, direction: str) -> ir.Value:
    """On 64 bits without a sign, the only width that fits all and has a kernel."""
    by = call(op, "Clip", by, 0, most)
    wide = [op.cast(value, torch.uint64) for value in (a, by)]
    return op.BitShift(*wide, direction=direction)


def _wrapped(number: int, dtype: torch.dtype) -> int:
    """A power of two as the dtype holds it: the highest bit of a signed one is its sign."""
    limits = torch.iinfo(dtype)
    return number if number <= limits.max else number - 2 * (limits.max + 1)
