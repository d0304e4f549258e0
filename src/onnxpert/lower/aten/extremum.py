"""The largest and the smallest over dimensions, and where they are."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import axes_of, native, reduced
from onnxpert.lower.shapes import product

aten = torch.ops.aten
Dims = Any  # int | Sequence[int] | None
Pair = tuple[ir.Value, ir.Value]


@lowering(aten.amax.default)
def amax(op: Emitter, x: ir.Value, dim: Dims = (), keepdim: bool = False) -> ir.Value:
    return _extreme(op, "ReduceMax", x, dim, keepdim)


@lowering(aten.amin.default)
def amin(op: Emitter, x: ir.Value, dim: Dims = (), keepdim: bool = False) -> ir.Value:
    return _extreme(op, "ReduceMin", x, dim, keepdim)


def _extreme(op: Emitter, name: str, x: ir.Value, dim: Dims, keepdim: bool) -> ir.Value:
    if op.rank(x) == 0:
        return x
    return reduced(op, name, x, axes_of(op, x, dim), keepdim)


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
    x = op.cast(x, native(op, name, op.dtype(x)))
    if dim is not None:
        return op.emit(name, x, axis=dim % rank, keepdims=int(keepdim))
    flat = op.reshape(x, (product(op.shape(x)),))
    place = op.emit(name, flat, axis=0, keepdims=0)
    return op.reshape(place, (1,) * rank) if keepdim else place
