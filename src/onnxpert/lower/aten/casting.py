"""Conversions of dtype; devices and layouts mean nothing in a file."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import FLOAT8, SATURATING, TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import Lowering, lowering

aten = torch.ops.aten


def converted(op: Emitter, x: ir.Value, dtype: torch.dtype | None) -> ir.Value:
    """`x` in another dtype, as torch converts."""
    if dtype is None or dtype == op.dtype(x):
        return x
    if dtype.is_complex or op.dtype(x).is_complex:
        raise Refusal("ONNX cannot convert to or from complex numbers")
    if TO_ONNX.get(dtype) in FLOAT8 and op.opset >= 19:
        return _to_float8(op, x, dtype)
    return op.cast(x, dtype)


def _to_float8(op: Emitter, x: ir.Value, dtype: torch.dtype) -> ir.Value:
    """Beyond the range as torch has it, which is not the same for all four types."""
    if dtype is torch.float8_e5m2 and TO_ONNX[op.dtype(x)] not in FLOAT8:
        # ONNX Runtime 1.31 makes NaN of what rounds to the first number that there is no more.
        wide = x if op.dtype(x).is_floating_point else op.cast(x, torch.float32)
        beyond = op.GreaterOrEqual(op.Abs(wide), 61440.0)
        x = op.Where(beyond, op.Mul(wide, math.inf), wide)
    return op.Cast(x, to=TO_ONNX[dtype], saturate=int(TO_ONNX[dtype] in SATURATING))


@lowering(aten.to.dtype)
def to_dtype(
    op: Emitter,
    x: ir.Value,
    dtype: torch.dtype,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> ir.Value:
    return converted(op, x, dtype)


@lowering(aten.to.dtype_layout, aten._to_copy.default)
def to_dtype_layout(
    op: Emitter, x: ir.Value, dtype: torch.dtype | None = None, copy: bool = False
) -> ir.Value:
    return converted(op, x, dtype)


@lowering(aten.to.device)
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


@lowering(aten.to.other, aten.type_as.default)
def to_other(
    op: Emitter,
    x: ir.Value,
    other: ir.Value,
    non_blocking: bool = False,
    copy: bool = False,
    memory_format: Any = None,
) -> ir.Value:
    return converted(op, x, op.dtype(other))


def _cast_to(overload: Any, dtype: torch.dtype) -> Lowering:
    @lowering(overload)
    def cast(op: Emitter, x: ir.Value, non_blocking: bool = False) -> ir.Value:
        return converted(op, x, dtype)

    return cast


cast_byte = _cast_to(aten._cast_Byte.default, torch.uint8)
cast_char = _cast_to(aten._cast_Char.default, torch.int8)
cast_double = _cast_to(aten._cast_Double.default, torch.float64)
cast_float = _cast_to(aten._cast_Float.default, torch.float32)
cast_half = _cast_to(aten._cast_Half.default, torch.float16)
cast_int = _cast_to(aten._cast_Int.default, torch.int32)
cast_long = _cast_to(aten._cast_Long.default, torch.int64)
cast_short = _cast_to(aten._cast_Short.default, torch.int16)


@lowering(
    aten.clone.default,
    aten._lazy_clone.default,
    aten._pin_memory.default,
    aten.cpu.default,
    aten.cuda.default,
    aten.data.default,
    aten.pin_memory.default,
)
def clone(op: Emitter, x: ir.Value) -> ir.Value:
    return x


@lowering(
    aten.real.default,
    aten.conj.default,
    aten._conj.default,
    aten._conj_copy.default,
    aten.conj_physical.default,
    aten._conj_physical.default,
)
def real(op: Emitter, x: ir.Value) -> ir.Value:
    if op.dtype(x).is_complex:
        raise Refusal("ONNX has no arithmetic on complex numbers")
    return x
