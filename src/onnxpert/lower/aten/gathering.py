"""Elements picked by an index: index_select, gather, take, embedding, one_hot."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.aten.reshaping import axis_of, is_zero, spread
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import broadcast, product
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


@lowering(aten.index_select.default)
def index_select(op: Emitter, x: ir.Value, dim: int, index: ir.Value) -> ir.Value:
    if op.rank(x) == 0:
        return x
    places = index if op.rank(index) else op.reshape(index, (1,))
    return op.Gather(x, places, axis=axis_of(op, x, dim))


@lowering(aten.gather.default)
def gather(
    op: Emitter, x: ir.Value, dim: int, index: ir.Value, *, sparse_grad: bool = False
) -> ir.Value:
    sizes = op.shape(index)
    if any(map(is_zero, sizes)):  # of any rank, says torch
        return spread(op, op.scalar(0, op.dtype(x)), sizes)
    axis = axis_of(op, x, dim)
    data = x if op.rank(x) else op.reshape(x, (1,))
    places = index if sizes else op.reshape(index, (1,))
    return op.reshape(op.GatherElements(data, places, axis=axis), sizes)


@lowering(aten.take.default)
def take(op: Emitter, x: ir.Value, index: ir.Value) -> ir.Value:
    return op.Gather(op.reshape(x, (product(op.shape(x)),)), index, axis=0)


@lowering(aten.take_along_dim.default)
def take_along_dim(op: Emitter, x: ir.Value, indices: ir.Value, dim: int | None = None) -> ir.Value:
    if dim is None:
        flat = op.reshape(indices, (product(op.shape(indices)),))
        return op.GatherElements(op.reshape(x, (product(op.shape(x)),)), flat, axis=0)
    axis = dim % op.rank(x)
    own, given = list(op.shape(x)), list(op.shape(indices))
    length, count = own[axis], given[axis]
    own[axis] = given[axis] = 1
    common = list(broadcast(tuple(own), tuple(given)))
    data = spread(op, x, [*common[:axis], length, *common[axis + 1 :]])
    places = spread(op, indices, [*common[:axis], count, *common[axis + 1 :]])
    return op.GatherElements(data, places, axis=axis)


@lowering(aten.embedding.default)
def embedding(
    op: Emitter,
    weight: ir.Value,
    indices: ir.Value,
    padding_idx: Size = -1,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> ir.Value:
    return op.Gather(weight, indices, axis=0)


@lowering(aten.one_hot.default)
def one_hot(op: Emitter, x: ir.Value, num_classes: int = -1) -> ir.Value:
    sizes = op.shape(x)
    classes: ir.Value | int = num_classes
    if num_classes == -1:
        flat = op.reshape(x, (product(sizes),))
        classes = op.Add(op.reduce("ReduceMax", flat, [0], False), 1)
    flat = x if sizes else op.reshape(x, (1,))
    depth = op.scalar(classes, torch.int64)
    hot = op.OneHot(op.cast(flat, torch.int64), depth, op.const([0, 1], torch.int64), axis=-1)
    return hot if sizes else op.squeeze(hot, 0)
