"""Complex numbers made of parts, and parts, magnitudes and angles of complex numbers."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower import complex_pairs as pairs
from onnxpert.lower.aten import comparison
from onnxpert.lower.aten.permuting import transpose
from onnxpert.lower.aten.trigonometry import atan2
from onnxpert.lower.complex_pairs import is_complex, pair, parts, stored
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(aten.view_as_real.default, aten.view_as_real_copy.default, complex=True)
def view_as_real(op: Emitter, x: ir.Value) -> ir.Value:
    return stored(op, x)


@lowering(aten.view_as_complex.default, aten.view_as_complex_copy.default, complex=True)
def view_as_complex(op: Emitter, x: ir.Value) -> ir.Value:
    return pairs.as_complex(op, x)


@lowering(aten.view.dtype, aten.view_copy.dtype, complex=True)
def view_dtype(op: Emitter, x: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Pairs of reals read as complex numbers, and back: the last axis halves or doubles."""
    if dtype == pairs.dtype_of(op, x):
        return x
    if is_complex(x) and dtype == op.dtype(x):
        *outer, last = op.shape(x)
        return op.reshape(stored(op, x), (*outer, last * 2))
    if not is_complex(x) and pairs.REAL.get(dtype) == op.dtype(x):
        *outer, last = op.shape(x)
        return pairs.as_complex(op, op.reshape(x, (*outer, last // 2, 2)))
    raise Refusal("the bits of a complex tensor cannot be read as that dtype in ONNX")


@lowering(aten.complex.default, complex=True)
def complex_(op: Emitter, real: ir.Value, imag: ir.Value) -> ir.Value:
    return pair(op, real, imag)


@lowering(aten.polar.default, complex=True)
def polar(op: Emitter, abs: ir.Value, angle: ir.Value) -> ir.Value:
    return pair(op, op.Mul(abs, op.Cos(angle)), op.Mul(abs, op.Sin(angle)))


@lowering(aten.real.default, complex=True)
def real(op: Emitter, x: ir.Value) -> ir.Value:
    return parts(op, x)[0]


@lowering(aten.imag.default, complex=True)
def imag(op: Emitter, x: ir.Value) -> ir.Value:
    return parts(op, x)[1]


@lowering(
    aten.conj.default,
    aten._conj.default,
    aten._conj_copy.default,
    aten.conj_physical.default,
    aten._conj_physical.default,
    complex=True,
)
def conj(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return pair(op, re, op.Neg(im))


@lowering(aten.mH.default, aten.adjoint.default, aten.matrix_H.default, complex=True)
def adjoint(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = (transpose(op, part, -2, -1) if op.rank(x) else part for part in parts(op, x))
    return pair(op, re, op.Neg(im))


@lowering(aten.abs.default, aten.absolute.default, complex=True)
def magnitude(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return op.Sqrt(op.Add(op.Mul(re, re), op.Mul(im, im)))


@lowering(aten.angle.default, complex=True)
def angle(op: Emitter, x: ir.Value) -> ir.Value:
    re, im = parts(op, x)
    return atan2(op, im, re)


@lowering(aten.sgn.default, complex=True)
def sgn(op: Emitter, x: ir.Value) -> ir.Value:
    size = magnitude(op, x)
    safe = op.Where(op.Equal(size, 0), op.const(1, op.dtype(size)), size)
    re, im = parts(op, x)
    return pair(op, op.Div(re, safe), op.Div(im, safe))


def _either(name: str, overload: Any, both: bool) -> Any:
    @lowering(overload, complex=True)
    def test(op: Emitter, x: ir.Value) -> ir.Value:
        re, im = (getattr(comparison, name)(op, part) for part in parts(op, x))
        return op.And(re, im) if both else op.Or(re, im)

    return test


isnan = _either("isnan", aten.isnan.default, False)
isinf = _either("isinf", aten.isinf.default, False)
isfinite = _either("isfinite", aten.isfinite.default, True)


@lowering(aten.isreal.default, complex=True)
def isreal(op: Emitter, x: ir.Value) -> ir.Value:
    return op.Equal(parts(op, x)[1], 0)


@lowering(aten.logical_or.default, complex=True)
def logical_or(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return op.Or(*(pairs.converted(op, value, torch.bool) for value in (x, other)))
