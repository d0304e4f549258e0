"""Which dtype carries a value through an operator that ONNX Runtime has few kernels for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter

_ANY_FLOAT = {torch.float64, torch.float32, torch.float16}  # for float16 the runtime inserts casts

_INTEGERS = {
    torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint8, torch.uint16, torch.uint32, torch.uint64,
}  # fmt: skip

# What the CPU provider of ONNX Runtime 1.31 registers for the opsets 13 to 23.
KERNELS: dict[str, set[torch.dtype]] = {
    "Tile": {*_ANY_FLOAT, *_INTEGERS, torch.bool},
    "Expand": {*_ANY_FLOAT, *_INTEGERS, torch.bool},
    "Pad": {*_ANY_FLOAT, *_INTEGERS, torch.bool} - {torch.int16, torch.uint16},
    "TopK": {*_ANY_FLOAT, torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8},
    "Unique": {*_ANY_FLOAT, torch.int8, torch.int64},
    "NonZero": {torch.bool, torch.float32, torch.float16, torch.int32, torch.int64, torch.uint8},
    "DepthToSpace": {*_ANY_FLOAT, torch.int8, torch.uint8},
    "Greater": {*_ANY_FLOAT, torch.int32, torch.int64},
    # A scatter that reduces: for float16 there is neither a kernel nor an inserted cast.
    "Scatter": {torch.float32, torch.float64, *_INTEGERS},
}

# Wider dtypes that hold every value of a narrow one. uint64 fits int64 bit for bit, which is
# enough where values are only moved.
_WIDER: dict[torch.dtype, tuple[torch.dtype, ...]] = {
    torch.bool: (torch.uint8, torch.int32, torch.int64, torch.float32),
    torch.uint8: (torch.int32, torch.int64, torch.float32),
    torch.int8: (torch.int32, torch.int64, torch.float32),
    torch.int16: (torch.int32, torch.int64, torch.float32),
    torch.uint16: (torch.int32, torch.int64, torch.float32),
    torch.int32: (torch.int64, torch.float64),
    torch.uint32: (torch.int64, torch.float64),
    torch.uint64: (torch.int64,),
    torch.float16: (torch.float32,),
    torch.bfloat16: (torch.float32,),
}


def carrier(operator: str, dtype: torch.dtype) -> torch.dtype:
    """The dtype itself where there is a kernel, else the nearest one that holds its values."""
    known = KERNELS[operator]
    if dtype in known:
        return dtype
    return next((wider for wider in _WIDER.get(dtype, ()) if wider in known), dtype)


def carried(op: Emitter, operator: str, call: Callable[[ir.Value], Any], x: ir.Value) -> ir.Value:
    """`call(x)` in a dtype that has a kernel, and the result back in its own."""
    own = op.dtype(x)
    result: ir.Value = call(op.cast(x, carrier(operator, own)))
    return op.cast(result, own)
