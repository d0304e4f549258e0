"""Sums, differences and products, and what is made of nothing else."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import Scalar
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, floating, promoted

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar


def _scaled(op: Emitter, value: ir.Value, factor: Scalar) -> ir.Value:
    if isinstance(factor, (int, float)) and factor == 1:
        return value
    return multiplied(op, value, op.scalar(factor, op.dtype(value)))


def multiplied(op: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    """The product of two tensors of one dtype."""
    if op.dtype(a) is torch.bool:
        return op.And(a, b)
    return call(op, "Mul", a, b)


@lowering(aten.add.Tensor, aten.add.Scalar)
def add(op: Emitter, x: Operand, other: Operand, alpha: Scalar = 1) -> ir.Value:
    a, b = promoted(op, x, other)
    b = _scaled(op, b, alpha)
    return op.Or(a, b) if op.dtype(a) is torch.bool else call(op, "Add", a, b)


@lowering(aten.sub.Tensor, aten.sub.Scalar, aten.subtract.Tensor, aten.subtract.Scalar)
def sub(op: Emitter, x: Operand, other: Operand, alpha: Scalar = 1) -> ir.Value:
    a, b = promoted(op, x, other)
    return call(op, "Sub", a, _scaled(op, b, alpha))


@lowering(aten.rsub.Tensor, aten.rsub.Scalar)
def rsub(op: Emitter, x: Operand, other: Operand, alpha: Scalar = 1) -> ir.Value:
    return sub(op, other, x, alpha)


@lowering(aten.mul.Tensor, aten.mul.Scalar, aten.multiply.Tensor, aten.multiply.Scalar)
def mul(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return multiplied(op, *promoted(op, x, other))


@lowering(aten.neg.default, aten.negative.default)
def neg(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Neg", x)


@lowering(aten.positive.default)
def positive(op: Emitter, x: ir.Value) -> ir.Value:
    return x


@lowering(aten.abs.default, aten.absolute.default)
def abs(op: Emitter, x: ir.Value) -> ir.Value:
    return x if op.dtype(x) is torch.bool else call(op, "Abs", x)


@lowering(aten.sign.default, aten.sgn.default)
def sign(op: Emitter, x: ir.Value) -> ir.Value:
    if op.dtype(x) is torch.bool:
        return x
    result = call(op, "Sign", x)
    if not op.dtype(x).is_floating_point:
        return result
    # Of NaN it is 0 in torch, and NaN in ONNX.
    return chosen(op, call(op, "IsNaN", x), op.scalar(0.0, op.dtype(x)), result)


@lowering(aten.square.default)
def square(op: Emitter, x: ir.Value) -> ir.Value:
    return multiplied(op, x, x)


@lowering(aten.reciprocal.default)
def reciprocal(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Reciprocal", *floating(op, x))


@lowering(aten.addcmul.default)
def addcmul(
    op: Emitter, x: ir.Value, tensor1: ir.Value, tensor2: ir.Value, value: Scalar = 1
) -> ir.Value:
    x, tensor1, tensor2 = promoted(op, x, tensor1, tensor2)
    return call(op, "Add", x, call(op, "Mul", _scaled(op, tensor1, value), tensor2))


@lowering(aten.addcdiv.default)
def addcdiv(
    op: Emitter, x: ir.Value, tensor1: ir.Value, tensor2: ir.Value, value: Scalar = 1
) -> ir.Value:
    x, tensor1, tensor2 = floating(op, x, tensor1, tensor2)
    return call(op, "Add", x, call(op, "Div", _scaled(op, tensor1, value), tensor2))


@lowering(aten.lerp.Scalar, aten.lerp.Tensor)
def lerp(op: Emitter, x: ir.Value, end: ir.Value, weight: Operand) -> ir.Value:
    """From the nearer end, as torch does: exact at both."""
    start, end = promoted(op, x, end)
    factor = op.scalar(weight, op.dtype(start))
    span = op.Sub(end, start)
    if not isinstance(weight, (int, float)):
        near = op.Less(op.Abs(factor), 0.5)
        from_start = op.Add(start, op.Mul(factor, span))
        return chosen(op, near, from_start, _from_end(op, end, span, factor))
    if -0.5 < weight < 0.5:
        return op.Add(start, op.Mul(factor, span))
    return _from_end(op, end, span, factor)


def _from_end(op: Emitter, end: ir.Value, span: ir.Value, factor: ir.Value) -> ir.Value:
    return op.Sub(end, op.Mul(span, op.Sub(1, factor)))
