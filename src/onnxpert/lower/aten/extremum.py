"""The largest and the smallest over dimensions, and where they are."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import axes_of, call, chosen, everywhere, native, reduced
from onnxpert.lower.shapes import product

aten = torch.ops.aten
Dims = Any  # int | Sequence[int] | None
Pair = tuple[ir.Value, ir.Value]
# They give NaN without having been given one; the runtime passes over a NaN where torch finds it.
_BEARS_NAN = frozenset({"Acos", "Acosh", "Asin", "Atanh", "Div", "Log", "Pow", "Sqrt"})
_HANDS_ON = frozenset({
    "Abs", "Cast", "Expand", "Identity", "Neg", "Reshape", "Slice", "Squeeze", "Transpose",
    "Unsqueeze",
})  # fmt: skip


@lowering(aten.amax.default)
def amax(op: Emitter, x: ir.Value, dim: Dims = (), keepdim: bool = False) -> ir.Value:
    return _extreme(op, "ReduceMax", x, dim, keepdim)


@lowering(aten.amin.default)
def amin(op: Emitter, x: ir.Value, dim: Dims = (), keepdim: bool = False) -> ir.Value:
    return _extreme(op, "ReduceMin", x, dim, keepdim)


def _extreme(op: Emitter, name: str, x: ir.Value, dim: Dims, keepdim: bool) -> ir.Value:
    if op.rank(x) == 0:
        return x
    axes = axes_of(op, x, dim)
    result = reduced(op, name, x, axes, keepdim)
    if not _is_often_nan(op, x):
        return result
    zero = everywhere(op, 0.0, op.dtype(x), x)
    nan = reduced(op, "ReduceSum", chosen(op, call(op, "IsNaN", x), x, zero), axes, keepdim)
    return call(op, "Add", result, nan)  # type: ignore[no-any-return]


def _is_often_nan(op: Emitter, x: ir.Value) -> bool:
    """Whether it comes straight from an operator that bears NaN, of numbers that vary."""
    if not op.dtype(x).is_floating_point:
        return False
    producer = x.producer()
    while producer is not None and producer.op_type in _HANDS_ON:
        before = producer.inputs[0]
        producer = None if before is None else before.producer()
    if producer is None or producer.op_type not in _BEARS_NAN:
        return False
    divisor = producer.inputs[-1]
    return producer.op_type not in ("Div", "Pow") or (
        divisor is not None and divisor.const_value is None
    )


@lowering(aten.aminmax.default)
def aminmax(op: Emitter, x: ir.Value, dim: int | None = None, keepdim: bool = False) -> Pair:
    return amin(op, x, dim, keepdim), amax(op, x, dim, keepdim)


@lowering(aten._aminmax.default, aten._aminmax.dim)
def _aminmax(op: Emitter, x: ir.Value, dim: int | None = None, keepdim: bool = False) -> Pair:
    return aminmax(op, x, dim, keepdim)


@lowering(aten.max.default)
def max(op: Emitter, x: ir.Value) -> ir.Value:
    return amax(op, x)


@lowering(aten.min.default)
def min(op: Emitter, x: ir.Value) -> ir.Value:
    return amin(op, x)


@lowering(aten.max.dim)
def max_dim(op: Emitter, x: ir.Value, dim: int, keepdim: bool = False) -> Pair:
    return amax(op, x, dim, keepdim), argmax(op, x, dim, keepdim)


@lowering(aten.min.dim)
def min_dim(op: Emitter, x: ir.Value, dim: int, keepdim: bool = False) -> Pair:
    return amin(op, x, dim, keepdim), argmin(op, x, dim, keepdim)


@lowering(aten.argmax.default)
def argmax(op: Emitter, x: ir.Value, dim: int | None = None, keepdim: bool = False) -> ir.Value:
    return _place(op, "ArgMax", x, dim, keepdim)


@lowering(aten.argmin.default)
def argmin(op: Emitter, x: ir.Value, dim: int | None = None, keepdim: bool = False) -> ir.Value:
    return _place(op, "ArgMin", x, dim, keepdim)


def _place(op: Emitter, name: str, x: ir.Value, dim: int | None, keepdim: bool) -> ir.Value:
    rank = op.rank(x)
    if rank == 0:
        return op.scalar(0, torch.int64)
    if _is_often_nan(op, x):
        first = everywhere(op, math.inf if name == "ArgMax" else -math.inf, op.dtype(x), x)
        x = chosen(op, call(op, "IsNaN", x), first, x)
    x = op.cast(x, native(op, name, op.dtype(x)))
    if dim is not None:
        return op.emit(name, x, axis=dim % rank, keepdims=int(keepdim))
    flat = op.reshape(x, (product(op.shape(x)),))
    place = op.emit(name, flat, axis=0, keepdims=0)
    return op.reshape(place, (1,) * rank) if keepdim else place
