"""Operands as torch promotes them, computed in a dtype that the opset and the runtimes have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import TO_ONNX, python_kind
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.schema import schema

_WIDE = frozenset({torch.int32, torch.int64})
_BYTES = frozenset({torch.int8, torch.uint8})
_INTEGERS = frozenset({
    torch.int8, torch.int16, torch.int32, torch.int64,
    torch.uint8, torch.uint16, torch.uint32, torch.uint64,
})  # fmt: skip
_SHORT = frozenset({torch.int16, torch.uint16})

# The integers that ONNX Runtime's CPU provider has a kernel for, where these are not all that the
# operator allows (release 1.31, opsets 13 to 23).
_INTEGER_KERNELS: dict[str, frozenset[torch.dtype]] = {
    "Pow": _WIDE,
    "Neg": frozenset({torch.int8, torch.int16, torch.int32, torch.int64}),
    "Clip": _INTEGERS - _SHORT,
    "Max": _INTEGERS - _SHORT,
    "Min": _INTEGERS - _SHORT,
    "Equal": _INTEGERS | {torch.bool},
    "Where": _WIDE | _BYTES | {torch.uint32},
    "ReduceSum": _WIDE,
    "ReduceMean": _WIDE,
    "ReduceProd": _WIDE,
    "ReduceMax": _WIDE | _BYTES,
    "ReduceMin": _WIDE | _BYTES,
    "ReduceL1": _WIDE,
    "ArgMax": _WIDE | _BYTES,
    "ArgMin": _WIDE | _BYTES,
    "CumSum": _WIDE,
    "Range": _WIDE,
    "Trilu": _WIDE | {torch.bool},
}
_WIDER = {torch.uint32: torch.int64, torch.uint64: torch.int64}


def promoted(op: Emitter, *values: Any, dtype: torch.dtype | None = None) -> tuple[ir.Value, ...]:
    """Tensors and numbers in the dtype torch promotes them to, or in the one given."""
    common = dtype or op.result_type(*values)
    if common.is_complex:
        raise Refusal("ONNX has no arithmetic on complex numbers")
    return tuple(op.scalar(value, common) for value in values)


def floating(op: Emitter, *values: Any) -> tuple[ir.Value, ...]:
    """Promoted as for functions that torch computes in floating point, whatever they are given."""
    common = op.result_type(*values)
    if not (common.is_floating_point or common.is_complex):
        common = python_kind(1.0)
    return promoted(op, *values, dtype=common)


def native(op: Emitter, name: str, dtype: torch.dtype) -> torch.dtype:
    """The dtype to compute `name` in, such that the result cast back is what `dtype` would give."""
    if dtype.is_complex:
        raise Refusal("ONNX has no arithmetic on complex numbers")
    known = schema(name, op.opset)
    operand = 1 if name in {"Where", "Pow"} else 0
    allowed = known.allowed.get(known.inputs[operand].type_str) if known is not None else None
    legal = allowed is None or TO_ONNX[dtype] in allowed
    if dtype.is_floating_point:
        return dtype if legal else torch.float32
    if legal and dtype in _INTEGER_KERNELS.get(name, _INTEGERS):
        return dtype
    return _WIDER.get(dtype, torch.int32)


def call(op: Emitter, name: str, *values: Any, **attributes: Any) -> Any:
    """`name` on tensors of one dtype (and numbers); the result is of that dtype again.

    Results that are not of the operands' kind (a comparison's) stay what they are."""
    tensors = [value for value in values if isinstance(value, ir.Value)]
    own = op.dtype(tensors[0])
    wide = native(op, name, own)
    result = op.emit(name, *(op.scalar(value, wide) for value in values), **attributes)
    return op.cast(result, own) if op.dtype(result) == wide else result


def reduced(op: Emitter, name: str, x: ir.Value, axes: Sequence[int], keepdim: bool) -> ir.Value:
    """`op.reduce` in a dtype that has a kernel; no axes means all of them."""
    own = op.dtype(x)
    wide = native(op, name, own)
    return op.cast(op.reduce(name, op.cast(x, wide), axes, keepdim), own)


def axes_of(op: Emitter, x: ir.Value, dim: Any) -> list[int]:
    """The axes that torch's `dim` names, counted from the front: none given means all of them."""
    rank = op.rank(x)
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(rank))
    given = dim if isinstance(dim, (list, tuple)) else [dim]
    return sorted(axis % rank for axis in given) if rank else []


def chosen(op: Emitter, condition: ir.Value, a: ir.Value, b: ir.Value) -> ir.Value:
    """`a` where the condition holds, else `b`; both of one dtype."""
    own = op.dtype(a)
    if own is torch.bool:
        return op.Or(op.And(condition, a), op.And(op.Not(condition), b))  # type: ignore[no-any-return]
    wide = native(op, "Where", own)
    return op.cast(op.Where(condition, op.cast(a, wide), op.cast(b, wide)), own)


def everywhere(op: Emitter, value: Any, dtype: torch.dtype, like: ir.Value) -> ir.Value:
    """A number at every place of a tensor of `like`'s shape."""
    return op.expand(op.scalar(value, dtype), op.shape(like))
