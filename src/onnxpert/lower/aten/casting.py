"""Conversions of dtype; devices and layouts mean nothing in a file."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import everywhere

aten = torch.ops.aten


def converted(op: Emitter, x: ir.Value, dtype: torch.dtype | None) -> ir.Value:
    """`x` in another dtype, as torch converts."""
    if dtype is None or dtype == op.dtype(x):
        return x
    if dtype.is_complex or op.dtype(x).is_complex:
        raise Refusal("ONNX cannot convert to or from complex numbers")
    if dtype.is_floating_point and dtype.itemsize == 1 and op.opset >= 19:
        # torch gives NaN or infinity where ONNX would by default take the largest number.
        return op.Cast(x, to=TO_ONNX[dtype], saturate=0)  # type: ignore[no-any-return]
    return op.cast(x, dtype)


@lowering(aten.to.dtype)
def to_dtype(op: Emitter, x: ir.Value, dtype: torch.dtype, *_: Any, **__: Any) -> ir.Value:
    return converted(op, x, dtype)
