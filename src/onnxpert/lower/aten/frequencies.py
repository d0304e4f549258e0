"""The frequencies of a spectrum, and spectra with the zero frequency moved to the middle."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.fourier import axes_from
from onnxpert.lower.aten.permuting import roll
from onnxpert.lower.complex_pairs import is_complex, pair, parts
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, is_static

aten = torch.ops.aten


def _shifted(op: Emitter, x: ir.Value, dim: Sequence[int] | None, extra: int) -> ir.Value:
    axes = axes_from(dim, op.rank(x))
    if not axes:
        return x
    shifts = [(op.shape(x)[axis] + extra) // 2 for axis in axes]
    if not is_complex(x):
        return roll(op, x, shifts, axes)
    re, im = (roll(op, part, shifts, axes) for part in parts(op, x))
    return pair(op, re, im)


@lowering(aten.fft_fftshift.default, complex=True)
def fftshift(op: Emitter, x: ir.Value, dim: Sequence[int] | None = None) -> ir.Value:
    return _shifted(op, x, dim, 0)


@lowering(aten.fft_ifftshift.default, complex=True)
def ifftshift(op: Emitter, x: ir.Value, dim: Sequence[int] | None = None) -> ir.Value:
    return _shifted(op, x, dim, 1)


@lowering(aten.fft_fftfreq.default)
def fftfreq(op: Emitter, n: Size, d: float = 1.0, dtype: torch.dtype | None = None) -> ir.Value:
    if is_static(n):
        return op.const(torch.fft.fftfreq(n, d, dtype=dtype))
    length, middle = op.scalar(n, torch.int64), op.scalar(n // 2, torch.int64)
    place = op.describe(op.Range(op.const(0), length, op.const(1)), (n,))
    turned = op.Sub(op.Mod(op.Add(place, middle), length), middle)
    return _per_step(op, turned, length, d, dtype)


@lowering(aten.fft_rfftfreq.default)
def rfftfreq(op: Emitter, n: Size, d: float = 1.0, dtype: torch.dtype | None = None) -> ir.Value:
    if is_static(n):
        return op.const(torch.fft.rfftfreq(n, d, dtype=dtype))
    count = n // 2 + 1
    place = op.Range(op.const(0), op.scalar(count, torch.int64), op.const(1))
    return _per_step(op, op.describe(place, (count,)), op.scalar(n, torch.int64), d, dtype)


def _per_step(
    op: Emitter, place: ir.Value, length: ir.Value, d: float, dtype: torch.dtype | None
) -> ir.Value:
    own = dtype or torch.get_default_dtype()
    step = op.Reciprocal(op.Mul(op.cast(length, torch.float64), d))
    return op.Mul(op.cast(place, own), op.cast(step, own))
