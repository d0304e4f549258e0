"""Exponential, logarithm, roots, trigonometric and hyperbolic functions of complex numbers."""

from __future__ import annotations

import math

import onnx_ir as ir
import torch

from onnxpert.lower.aten.trigonometry import atan2, cosh, sinh, tan
from onnxpert.lower.complex_pairs import Parts, halves, pair, parts
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


def exp_of(op: Emitter, re: ir.Value, im: ir.Value | None) -> tuple[ir.Value, ir.Value | None]:
    size = op.Exp(re)
    if im is None:
        return size, None
    return op.Mul(size, op.Cos(im)), op.Mul(size, op.Sin(im))


def log_of(op: Emitter, x: Parts) -> tuple[ir.Value, ir.Value]:
    """The logarithm of the magnitude, and the angle."""
    re, im = x
    if im is None:
        im = op.expand(op.const(0, op.dtype(re)), op.shape(re))
    size = op.Sqrt(op.Add(op.Mul(re, re), op.Mul(im, im)))
    return op.Log(size), atan2(op, im, re)


@lowering(aten.exp.default, complex=True)
def exp(op: Emitter, x: ir.Value) -> ir.Value:
    return pair(op, *exp_of(op, *parts(op, x)))


@lowering(aten.expm1.default, aten.special_expm1.default, complex=True)
def expm1(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = exp_of(op, *parts(op, x))
    return pair(op, op.Sub(re, 1), im)


@lowering(aten.exp2.default, aten.special_exp2.default, complex=True)
def exp2(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = (op.Mul(part, math.log(2)) for part in parts(op, x))
    return pair(op, *exp_of(op, re, im))


@lowering(aten.log.default, complex=True)
def log(op: Emitter, x: ir.Value) -> ir.Value:
    return pair(op, *log_of(op, halves(op, x)))


@lowering(aten.log1p.default, aten.special_log1p.default, complex=True)
def log1p(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return pair(op, *log_of(op, (op.Add(re, 1), im)))


@lowering(aten.log2.default, complex=True)
def log2(op: Emitter, x: ir.Value) -> ir.Value:
    size, angle = log_of(op, halves(op, x))
    return pair(op, op.Mul(size, 1 / math.log(2)), op.Mul(angle, 1 / math.log(2)))


@lowering(aten.log10.default, complex=True)
def log10(op: Emitter, x: ir.Value) -> ir.Value:
    size, angle = log_of(op, halves(op, x))
    return pair(op, op.Mul(size, 1 / math.log(10)), op.Mul(angle, 1 / math.log(10)))


@lowering(aten.sqrt.default, complex=True)
def sqrt(op: Emitter, x: ir.Value) -> ir.Value:
    """The root of the larger sum of two first: the other part is a quotient, not a difference."""
    re, im = parts(op, x)
    size = op.Sqrt(op.Add(op.Mul(re, re), op.Mul(im, im)))
    larger = op.Sqrt(op.Mul(op.Add(size, op.Abs(re)), 0.5))
    one = op.const(1, op.dtype(re))
    safe = op.Where(op.Equal(larger, 0), one, larger)
    smaller = op.Div(op.Mul(op.Abs(im), 0.5), safe)
    right = op.GreaterOrEqual(re, 0)
    # A negative zero is below the cut of the root.
    below = op.Or(op.Less(im, 0), op.And(op.Equal(im, 0), op.Less(op.Div(one, im), 0)))
    height = op.Where(right, smaller, larger)
    return pair(op, op.Where(right, larger, smaller), op.Where(below, op.Neg(height), height))


@lowering(aten.rsqrt.default, complex=True)
def rsqrt(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, sqrt(op, x))
    square = op.Add(op.Mul(re, re), op.Mul(im, im))
    return pair(op, op.Div(re, square), op.Neg(op.Div(im, square)))


@lowering(aten.sin.default, complex=True)
def sin(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return pair(op, op.Mul(op.Sin(re), cosh(op, im)), op.Mul(op.Cos(re), sinh(op, im)))


@lowering(aten.cos.default, complex=True)
def cos(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return pair(op, op.Mul(op.Cos(re), cosh(op, im)), op.Neg(op.Mul(op.Sin(re), sinh(op, im))))


@lowering(aten.sinh.default, complex=True)
def sinh_(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return pair(op, op.Mul(sinh(op, re), op.Cos(im)), op.Mul(cosh(op, re), op.Sin(im)))


@lowering(aten.cosh.default, complex=True)
def cosh_(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return pair(op, op.Mul(cosh(op, re), op.Cos(im)), op.Mul(sinh(op, re), op.Sin(im)))


def _tanh(op: Emitter, re: ir.Value, im: ir.Value) -> tuple[ir.Value, ir.Value]:
    """By the tangents of the parts, none of which overflows."""
    flat, steep = op.Tanh(re), tan(op, im)
    square = op.Mul(steep, steep)
    across = op.Mul(flat, flat)
    below = op.Add(op.Mul(across, square), 1)
    return (
        op.Div(op.Mul(flat, op.Add(square, 1)), below),
        op.Div(op.Mul(steep, op.Sub(1, across)), below),
    )


@lowering(aten.tanh.default, complex=True)
def tanh(op: Emitter, x: ir.Value) -> ir.Value:
    return pair(op, *_tanh(op, *parts(op, x)))


@lowering(aten.tan.default, complex=True)
def tan_(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    flat, steep = _tanh(op, op.Neg(im), re)
    return pair(op, steep, op.Neg(flat))


@lowering(aten.sigmoid.default, aten.special_expit.default, complex=True)
def sigmoid(op: Emitter, x: ir.Value) -> ir.Value:
    """Half of one more than the hyperbolic tangent of half."""
    re, im = _tanh(op, *(op.Mul(part, 0.5) for part in parts(op, x)))
    return pair(op, op.Mul(op.Add(re, 1), 0.5), op.Mul(im, 0.5))
