"""Inverse trigonometric and hyperbolic functions of complex numbers, in float64 (Hull et al., 1997)."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.aten import trigonometry
from onnxpert.lower.complex_pairs import pair, parts
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


def _wide(op: Emitter, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    re, im = parts(op, x)
    return op.cast(re, torch.float64), op.cast(im, torch.float64)


def _narrow(op: Emitter, like: ir.Value, re: ir.Value, im: ir.Value) -> ir.Value:
    dtype = op.dtype(parts(op, like)[0])
    return pair(op, op.cast(re, dtype), op.cast(im, dtype))


def _signed(op: Emitter, size: ir.Value, like: ir.Value) -> ir.Value:
    """With the sign of `like`: a negative zero is below the cut."""
    negative = trigonometry.is_negative(op, like)
    return op.Where(negative, op.Neg(size), size)


def _place(op: Emitter, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The number on the ellipse through it with foci 1 and -1: its cosine there, and its size."""
    right, left = op.Add(x, 1.0), op.Sub(x, 1.0)
    square = op.Mul(y, y)
    far = op.Sqrt(op.Add(op.Mul(right, right), square))
    near = op.Sqrt(op.Add(op.Mul(left, left), square))
    total = op.Mul(op.Add(far, near), 0.5)
    total = op.Where(op.Less(total, 1.0), op.const(1.0, torch.float64), total)
    return op.Clip(op.Div(x, total), -1.0, 1.0), total


def _asin(op: Emitter, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    cosine, size = _place(op, x, y)
    return trigonometry.asin(op, cosine), _signed(op, trigonometry.acosh(op, size), y)


def _atanh(op: Emitter, x: ir.Value, y: ir.Value) -> tuple[ir.Value, ir.Value]:
    right, left, square = op.Add(x, 1.0), op.Sub(1.0, x), op.Mul(y, y)
    ratio = op.Div(op.Add(op.Mul(right, right), square), op.Add(op.Mul(left, left), square))
    across = op.Sub(op.Mul(left, right), square)
    turn = trigonometry.atan2(op, op.Mul(y, 2.0), across)
    return op.Mul(op.Log(ratio), 0.25), op.Mul(turn, 0.5)


@lowering(aten.asin.default, aten.arcsin.default, complex=True)
def asin(op: Emitter, x: ir.Value) -> ir.Value:
    return _narrow(op, x, *_asin(op, *_wide(op, x)))


@lowering(aten.acos.default, aten.arccos.default, complex=True)
def acos(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = _wide(op, x)
    cosine, size = _place(op, re, im)
    height = _signed(op, trigonometry.acosh(op, size), im)
    return _narrow(op, x, trigonometry.acos(op, cosine), op.Neg(height))


@lowering(aten.acosh.default, aten.arccosh.default, complex=True)
def acosh(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = _wide(op, x)
    cosine, size = _place(op, re, im)
    angle = _signed(op, trigonometry.acos(op, cosine), im)
    return _narrow(op, x, trigonometry.acosh(op, size), angle)


@lowering(aten.asinh.default, aten.arcsinh.default, complex=True)
def asinh(op: Emitter, x: ir.Value) -> ir.Value:
    """A quarter turn from the sine's: asinh(z) = -i asin(i z)."""
    re, im = _wide(op, x)
    angle, size = _asin(op, op.Neg(im), re)
    return _narrow(op, x, size, op.Neg(angle))


@lowering(aten.atanh.default, aten.arctanh.default, complex=True)
def atanh(op: Emitter, x: ir.Value) -> ir.Value:
    return _narrow(op, x, *_atanh(op, *_wide(op, x)))


@lowering(aten.atan.default, aten.arctan.default, complex=True)
def atan(op: Emitter, x: ir.Value) -> ir.Value:
    """The same quarter turn from the hyperbolic one."""
    re, im = _wide(op, x)
    size, angle = _atanh(op, op.Neg(im), re)
    return _narrow(op, x, angle, op.Neg(size))
