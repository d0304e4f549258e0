"""Tensors made of numbers and sizes: filled, empty, or scalars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import Scalar, python_kind
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


def filled(op: Emitter, size: Sequence[Size], value: Any, dtype: torch.dtype) -> ir.Value:
    """A number (or a 0-d tensor) at every place of a tensor."""
    if dtype.is_complex:
        raise Refusal("ONNX has no arithmetic on complex numbers")
    return op.expand(op.scalar(value, dtype), tuple(size))


@lowering(aten.full.default)
def full(
    op: Emitter, size: Sequence[Size], fill_value: Scalar, dtype: torch.dtype | None = None
) -> ir.Value:
    return filled(op, size, fill_value, dtype or _kind(op, fill_value))


def _kind(op: Emitter, value: Any) -> torch.dtype:
    return op.dtype(value) if isinstance(value, ir.Value) else python_kind(value)


@lowering(aten.zeros.default, aten._efficientzerotensor.default)
def zeros(op: Emitter, size: Sequence[Size], dtype: torch.dtype | None = None) -> ir.Value:
    return filled(op, size, 0, dtype or torch.get_default_dtype())


@lowering(aten.ones.default)
def ones(op: Emitter, size: Sequence[Size], dtype: torch.dtype | None = None) -> ir.Value:
    return filled(op, size, 1, dtype or torch.get_default_dtype())


@lowering(aten.empty.memory_format)  # nobody may rely on what is in it: zeros will do
def empty(op: Emitter, size: Sequence[Size], dtype: torch.dtype | None = None) -> ir.Value:
    return zeros(op, size, dtype)


@lowering(aten.empty_strided.default, aten.empty_permuted.default)
def empty_strided(
    op: Emitter, size: Sequence[Size], stride: Any, dtype: torch.dtype | None = None
) -> ir.Value:
    return zeros(op, size, dtype)


@lowering(aten.full_like.default)
def full_like(
    op: Emitter, x: ir.Value, fill_value: Scalar, dtype: torch.dtype | None = None
) -> ir.Value:
    return filled(op, op.shape(x), fill_value, dtype or op.dtype(x))


@lowering(aten.zeros_like.default, aten.empty_like.default)
def zeros_like(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return full_like(op, x, 0, dtype)


@lowering(aten.ones_like.default)
def ones_like(op: Emitter, x: ir.Value, dtype: torch.dtype | None = None) -> ir.Value:
    return full_like(op, x, 1, dtype)


@lowering(aten.fill.Scalar, aten.fill.Tensor)
def fill(op: Emitter, x: ir.Value, value: Any) -> ir.Value:
    return full_like(op, x, value)


@lowering(aten.zero.default)
def zero(op: Emitter, x: ir.Value) -> ir.Value:
    return full_like(op, x, 0)


@lowering(aten.new_full.default)
def new_full(
    op: Emitter,
    x: ir.Value,
    size: Sequence[Size],
    fill_value: Scalar,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    return filled(op, size, fill_value, dtype or op.dtype(x))


@lowering(aten.new_zeros.default, aten.new_empty.default)
def new_zeros(
    op: Emitter, x: ir.Value, size: Sequence[Size], dtype: torch.dtype | None = None
) -> ir.Value:
    return new_full(op, x, size, 0, dtype)


@lowering(aten.new_empty_strided.default)
def new_empty_strided(
    op: Emitter,
    x: ir.Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    dtype: torch.dtype | None = None,
) -> ir.Value:
    return new_full(op, x, size, 0, dtype)


@lowering(aten.new_ones.default)
def new_ones(
    op: Emitter, x: ir.Value, size: Sequence[Size], dtype: torch.dtype | None = None
) -> ir.Value:
    return new_full(op, x, size, 1, dtype)


@lowering(aten.scalar_tensor.default)
def scalar_tensor(op: Emitter, s: Scalar, dtype: torch.dtype | None = None) -> ir.Value:
    return op.scalar(s, dtype or torch.get_default_dtype())
