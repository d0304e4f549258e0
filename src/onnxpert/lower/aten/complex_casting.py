"""Conversions to and from complex dtypes, and complex tensors made of numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.complex_pairs import REAL, converted, dtype_of, halves, pair
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


@lowering(aten.to.dtype, aten._to_copy.default, aten.to.dtype_layout, complex=True)
def to_dtype(
    op: Emitter,
    x: ir.Value,
    dtype: torch.dtype | None = None,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> ir.Value:
    return x if dtype is None else converted(op, x, dtype)


@lowering(aten.to.device, complex=True)
def to_device(
    op: Emitter,
    x: ir.Value,
    device: Any,
    dtype: torch.dtype,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> ir.Value:
    return converted(op, x, dtype)


@lowering(aten.to.other, aten.type_as.default, complex=True)
def to_other(
    op: Emitter,
    x: ir.Value,
    other: ir.Value,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> ir.Value:
    return converted(op, x, dtype_of(op, other))


def _filled(op: Emitter, size: Sequence[Size], value: Any, dtype: torch.dtype) -> ir.Value:
    re, im = halves(op, value, REAL.get(dtype, dtype))
    sizes = tuple(size)
    if not dtype.is_complex:
        return op.expand(re, sizes)
    return pair(op, op.expand(re, sizes), None if im is None else op.expand(im, sizes))


def _kind(op: Emitter, dtype: torch.dtype | None) -> torch.dtype:
    return dtype or (torch.complex64 if op.out is None else op.out.dtype)


@lowering(aten.full.default, complex=True)
def full(
    op: Emitter, size: Sequence[Size], fill_value: Any, dtype: torch.dtype | None = None
) -> ir.Value:
    return _filled(op, size, fill_value, _kind(op, dtype))


@lowering(aten.zeros.default, aten.empty.memory_format, complex=True)
def zeros(op: Emitter, size: Sequence[Size], dtype: torch.dtype | None = None) -> ir.Value:
    return _filled(op, size, 0, _kind(op, dtype))


@lowering(aten.ones.default, complex=True)
def ones(op: Emitter, size: Sequence[Size], dtype: torch.dtype | None = None) -> ir.Value:
    return _filled(op, size, 1, _kind(op, dtype))


@lowering(aten.full_like.default, complex=True)
def full_like(
    op: Emitter, x: ir.Value, fill_value: Any, dtype: torch.dtype | None = None
) -> ir.Value:
    return _filled(op, op.shape(x), fill_value, dtype or dtype_of(op, x))


@lowering(aten.zeros_like.default, aten.empty_like.default, aten.zero.default, complex=True)
def zeros_like(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return full_like(op, x, 0, dtype)


@lowering(aten.ones_like.default, complex=True)
def ones_like(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return full_like(op, x, 1, dtype)


@lowering(aten.fill.Scalar, aten.fill.Tensor, complex=True)
def fill(op: Emitter, x: ir.Value, value: Any) -> ir.Value:
    return full_like(op, x, value)


@lowering(aten.new_full.default, complex=True)
def new_full(
    op: Emitter,
    x: ir.Value,
    size: Sequence[Size],
    fill_value: Any,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    return _filled(op, size, fill_value, dtype or dtype_of(op, x))


@lowering(aten.new_zeros.default, aten.new_empty.default, complex=True)
def new_zeros(
    op: Emitter, x: ir.Value, size: Sequence[Size], dtype: torch.dtype | None = None
) -> ir.Value:
    return new_full(op, x, size, 0, dtype)


@lowering(aten.new_ones.default, complex=True)
def new_ones(
    op: Emitter, x: ir.Value, size: Sequence[Size], dtype: torch.dtype | None = None
) -> ir.Value:
    return new_full(op, x, size, 1, dtype)


@lowering(aten.eye.default, aten.eye.m, complex=True)
def eye(op: Emitter, n: Size, m: Size | None = None, dtype: torch.dtype | None = None) -> ir.Value:
    grid = op.expand(op.const(0, REAL[_kind(op, dtype)]), (n, n if m is None else m))
    return pair(op, op.EyeLike(grid), None)


@lowering(aten.scalar_tensor.default, complex=True)
def scalar_tensor(op: Emitter, s: Any, dtype: torch.dtype | None = None) -> ir.Value:
    return _filled(op, (), s, _kind(op, dtype))
