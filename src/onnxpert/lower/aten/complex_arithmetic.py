"""Sums, products, quotients and powers of complex numbers, and whether they are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.complex_functions import exp_of, log_of, sqrt
from onnxpert.lower.complex_pairs import Parts, is_complex, pair, parts, promoted
from onnxpert.lower.complex_pairs import converted as as_dtype
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import is_static

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar


def _plus(op: Emitter, a: ir.Value | None, b: ir.Value | None, name: str) -> ir.Value | None:
    if b is None:
        return a
    if a is None:
        return b if name == "Add" else op.Neg(b)
    return op.emit(name, a, b)


def _sum(op: Emitter, x: Operand, other: Operand, alpha: Any, name: str) -> ir.Value:
    first, second = promoted(op, x, other)
    if alpha != 1:
        _, factor = promoted(op, x, alpha)
        second = product(op, second, factor)
    re, im = (_plus(op, a, b, name) for a, b in zip(first, second, strict=True))
    assert re is not None
    return pair(op, re, im)


def product(op: Emitter, x: Parts, y: Parts) -> Parts:
    """The product of two numbers that are given by their parts."""
    (a, b), (c, d) = x, y
    re = op.Mul(a, c)
    if b is not None and d is not None:
        return op.Sub(re, op.Mul(b, d)), op.Add(op.Mul(a, d), op.Mul(b, c))
    if d is not None:
        return re, op.Mul(a, d)
    return re, None if b is None else op.Mul(b, c)


def quotient(op: Emitter, x: Parts, y: Parts) -> Parts:
    (a, b), (c, d) = x, y
    if d is None:
        return op.Div(a, c), None if b is None else op.Div(b, c)
    # Scaled by the larger part, so that its square does not overflow.
    largest = op.Max(op.Abs(c), op.Abs(d))
    c_, d_ = op.Div(c, largest), op.Div(d, largest)
    length = op.Add(op.Mul(c, c_), op.Mul(d, d_))
    if b is None:
        return op.Div(op.Mul(a, c_), length), op.Neg(op.Div(op.Mul(a, d_), length))
    re = op.Add(op.Mul(a, c_), op.Mul(b, d_))
    im = op.Sub(op.Mul(b, c_), op.Mul(a, d_))
    return op.Div(re, length), op.Div(im, length)


@lowering(aten.add.Tensor, aten.add.Scalar, complex=True)
def add(op: Emitter, x: Operand, other: Operand, alpha: Any = 1) -> ir.Value:
    return _sum(op, x, other, alpha, "Add")


@lowering(
    aten.sub.Tensor, aten.sub.Scalar, aten.subtract.Tensor, aten.subtract.Scalar, complex=True
)
def sub(op: Emitter, x: Operand, other: Operand, alpha: Any = 1) -> ir.Value:
    return _sum(op, x, other, alpha, "Sub")


@lowering(aten.rsub.Tensor, aten.rsub.Scalar, complex=True)
def rsub(op: Emitter, x: Operand, other: Operand, alpha: Any = 1) -> ir.Value:
    return _sum(op, other, x, alpha, "Sub")


@lowering(
    aten.mul.Tensor, aten.mul.Scalar, aten.multiply.Tensor, aten.multiply.Scalar, complex=True
)
def mul(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return pair(op, *product(op, *promoted(op, x, other)))


@lowering(
    aten.div.Tensor,
    aten.div.Scalar,
    aten.divide.Tensor,
    aten.divide.Scalar,
    aten.true_divide.Tensor,
    aten.true_divide.Scalar,
    complex=True,
)
def div(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return pair(op, *quotient(op, *promoted(op, x, other)))


@lowering(aten.reciprocal.default, complex=True)
def reciprocal(op: Emitter, x: ir.Value) -> ir.Value:
    return div(op, 1, x)


@lowering(aten.neg.default, aten.negative.default, aten._neg_view.default, complex=True)
def neg(op: Emitter, x: ir.Value) -> ir.Value:
    if not is_complex(x):
        return op.Neg(x)
    re, im = parts(op, x)
    return pair(op, op.Neg(re), op.Neg(im))


@lowering(aten.square.default, complex=True)
def square(op: Emitter, x: ir.Value) -> ir.Value:
    return mul(op, x, x)


@lowering(aten.addcmul.default, complex=True)
def addcmul(
    op: Emitter, x: ir.Value, tensor1: ir.Value, tensor2: ir.Value, value: Any = 1
) -> ir.Value:
    return add(op, x, mul(op, tensor1, tensor2), value)


@lowering(aten.addcdiv.default, complex=True)
def addcdiv(
    op: Emitter, x: ir.Value, tensor1: ir.Value, tensor2: ir.Value, value: Any = 1
) -> ir.Value:
    return add(op, x, div(op, tensor1, tensor2), value)


@lowering(aten.eq.Tensor, aten.eq.Scalar, complex=True)
def eq(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    (a, b), (c, d) = promoted(op, x, other)
    same_im = op.Equal(0 if b is None else b, d) if d is not None else op.Equal(b, 0)
    return op.And(op.Equal(a, c), same_im)


@lowering(aten.ne.Tensor, aten.ne.Scalar, aten.not_equal.Tensor, complex=True)
def ne(op: Emitter, x: Operand, other: Operand) -> ir.Value:
    return op.Not(eq(op, x, other))


# ---- powers ------------------------------------------------------------------------------------


@lowering(
    aten.pow.Tensor_Tensor,
    aten.pow.Tensor_Scalar,
    aten.pow.Scalar,
    aten.float_power.Tensor_Tensor,
    aten.float_power.Tensor_Scalar,
    aten.float_power.Scalar,
    complex=True,
)
def pow(op: Emitter, x: Operand, exponent: Operand) -> ir.Value:
    if op.out is not None and op.out.dtype is torch.complex128 and isinstance(x, ir.Value):
        x = as_dtype(op, x, torch.complex128)  # `float_power` always computes in it
    simple = _simple_power(op, x, exponent)
    if simple is not None:
        return simple
    base, power = promoted(op, x, exponent)
    size, angle = log_of(op, base)
    if power[1] is None:
        # By way of the magnitude, which has a power where it has no logarithm: at zero.
        length = op.Pow(op.Exp(size), power[0])
        turned = op.Mul(angle, power[0])
        return pair(op, op.Mul(length, op.Cos(turned)), op.Mul(length, op.Sin(turned)))
    re, im = exp_of(op, *product(op, (size, angle), power))
    nought = op.Equal(op.Exp(size), 0)
    zero, one = op.const(0, op.dtype(re)), op.const(1, op.dtype(re))
    none = op.And(op.Equal(power[0], 0), op.Equal(power[1], 0))
    at_zero = op.Where(none, one, zero)
    return pair(op, op.Where(nought, at_zero, re), op.Where(nought, zero, im))


def _simple_power(op: Emitter, x: Operand, exponent: Operand) -> ir.Value | None:
    if not isinstance(x, ir.Value) or not isinstance(exponent, (int, float)):
        return None
    if exponent == 0.5:
        return sqrt(op, x)
    if exponent != int(exponent) or not 1 <= abs(exponent) <= 8:
        return None
    (base,) = promoted(op, x)
    result = base
    for _ in range(abs(int(exponent)) - 1):
        result = product(op, result, base)
    whole = pair(op, *result)
    return whole if exponent > 0 else reciprocal(op, whole)


# ---- products along axes -----------------------------------------------------------------------


@lowering(aten.prod.dim_int, complex=True)
def prod_dim(
    op: Emitter, x: ir.Value, dim: int, keepdim: bool = False, dtype: torch.dtype | None = None
) -> ir.Value:
    if dtype is not None:
        x = as_dtype(op, x, dtype)
    if not op.rank(x):
        return x
    re, im = parts(op, x)
    dim %= op.rank(x)
    size = op.shape(x)[dim]
    if not is_static(size):
        raise Refusal("a product of complex numbers along a dynamic dimension is not written yet")
    if size == 0:
        raise Refusal("a product of no complex numbers is not written yet")
    split_re, split_im = (op.split(part, [1] * size, dim) for part in (re, im))
    terms: list[Parts] = list(zip(split_re, split_im, strict=True))
    while len(terms) > 1:
        head = [product(op, a, b) for a, b in zip(terms[::2], terms[1::2], strict=False)]
        terms = [*head, *terms[len(head) * 2 :]]
    kept = [part if keepdim else op.squeeze(part, dim) for part in terms[0] if part is not None]
    return pair(op, kept[0], kept[1])


@lowering(aten.prod.default, complex=True)
def prod(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    re, im = (op.reshape(part, (_count(op.shape(x)),)) for part in parts(op, x))
    return prod_dim(op, pair(op, re, im), 0, False, dtype)


def _count(sizes: Sequence[Any]) -> Any:
    total: Any = 1
    for size in sizes:
        total = total * size
    return total
