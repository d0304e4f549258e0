"""torch's dtypes and ONNX's, and torch's rules of promotion."""

from __future__ import annotations

import functools
from typing import Any, TypeAlias

import onnx_ir as ir
import torch

_PAIRS = (
    (torch.float32, ir.DataType.FLOAT),
    (torch.float64, ir.DataType.DOUBLE),
    (torch.float16, ir.DataType.FLOAT16),
    (torch.bfloat16, ir.DataType.BFLOAT16),
    (torch.int64, ir.DataType.INT64),
    (torch.int32, ir.DataType.INT32),
    (torch.int16, ir.DataType.INT16),
    (torch.int8, ir.DataType.INT8),
    (torch.uint8, ir.DataType.UINT8),
    (torch.uint16, ir.DataType.UINT16),
    (torch.uint32, ir.DataType.UINT32),
    (torch.uint64, ir.DataType.UINT64),
    (torch.bool, ir.DataType.BOOL),
    (torch.float8_e4m3fn, ir.DataType.FLOAT8E4M3FN),
    (torch.float8_e4m3fnuz, ir.DataType.FLOAT8E4M3FNUZ),
    (torch.float8_e5m2, ir.DataType.FLOAT8E5M2),
    (torch.float8_e5m2fnuz, ir.DataType.FLOAT8E5M2FNUZ),
    (torch.complex64, ir.DataType.COMPLEX64),
    (torch.complex128, ir.DataType.COMPLEX128),
)
TO_ONNX: dict[torch.dtype, ir.DataType] = dict(_PAIRS)
TO_TORCH: dict[ir.DataType, torch.dtype] = {onnx: own for own, onnx in _PAIRS}
FLOAT8 = frozenset(
    {
        ir.DataType.FLOAT8E4M3FN,
        ir.DataType.FLOAT8E4M3FNUZ,
        ir.DataType.FLOAT8E5M2,
        ir.DataType.FLOAT8E5M2FNUZ,
    }
)
# What torch does beyond the range, in 2.13 and 2.15: here the largest number, else NaN or infinity.
SATURATING = frozenset({ir.DataType.FLOAT8E4M3FN})
NARROW = FLOAT8 | {ir.DataType.BFLOAT16}  # float32 holds all their values, and has all the kernels

Scalar: TypeAlias = Any  # int | float | bool | torch.SymInt | torch.SymFloat | torch.SymBool


def python_kind(value: Scalar) -> torch.dtype:
    """The dtype a Python number stands for: torch's defaults."""
    if isinstance(value, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(value, (int, torch.SymInt)):
        return torch.int64
    if isinstance(value, complex):
        return torch.complex64
    return torch.get_default_dtype()


def result_type(*values: tuple[torch.dtype, int] | Scalar) -> torch.dtype:
    """torch's promotion of tensors, given as (dtype, rank), and Python numbers.

    Tensors with dimensions outrank 0-d tensors, which outrank numbers, within one category."""
    return _promoted(
        tuple(
            (value[0], min(value[1], 1)) if isinstance(value, tuple) else _number_like(value)
            for value in values
        )
    )


@functools.cache
def _promoted(kinds: tuple[Any, ...]) -> torch.dtype:
    stand_ins = [
        torch.empty((1,) * kind[1], dtype=kind[0], device="meta")
        if isinstance(kind, tuple)
        else kind(1)
        for kind in kinds
    ]
    if len(stand_ins) == 1:
        (only,) = stand_ins
        return only.dtype if isinstance(only, torch.Tensor) else python_kind(only)
    if len(stand_ins) == 2:
        return torch.result_type(*stand_ins)
    # torch.result_type takes two; the categories make it associative only in this order.
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND, elementwise_dtypes

    return elementwise_dtypes(
        *stand_ins, type_promotion_kind=ELEMENTWISE_TYPE_PROMOTION_KIND.DEFAULT
    )[1]


def _number_like(value: Scalar) -> type[Any]:
    """The Python type a number stands for; its value never matters to promotion."""
    if isinstance(value, (bool, torch.SymBool)):
        return bool
    if isinstance(value, (int, torch.SymInt)):
        return int
    return complex if isinstance(value, complex) else float
