"""Bags of embeddings: rows looked up, then summed, averaged or compared bag by bag."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.scattering import scattered
from onnxpert.lower.aten.slicing import sliced
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import chosen
from onnxpert.lower.symbols import Size

aten = torch.ops.aten
_SUM, _MEAN, _MAX = 0, 1, 2


@lowering(aten.embedding_bag.default, aten.embedding_bag.padding_idx)
def embedding_bag(
    op: Emitter,
    weight: ir.Value,
    indices: ir.Value,
    offsets: ir.Value,
    scale_grad_by_freq: bool = False,
    mode: int = _SUM,
    sparse: bool = False,
    per_sample_weights: ir.Value | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    if op.rank(indices) != 1:
        raise Refusal("the indices of the bags are not in one row")
    # What lies behind the last offset belongs to no bag: it goes to one more, which is dropped.
    bags = op.shape(offsets)[0] - (1 if include_last_offset else 0)
    bag = _bag_of_each(op, indices, offsets)
    rows = op.Gather(weight, indices, axis=0)
    counts = _counts(op, weight, indices, padding_idx)
    sizes = _gathered(op, counts, bag, bags + 1, "add", 0)
    if per_sample_weights is not None:
        rows = op.Mul(rows, op.unsqueeze(op.cast(per_sample_weights, op.dtype(rows)), 1))
    reduction, start = ("max", -torch.inf) if mode == _MAX else ("add", 0.0)
    if padding_idx is not None:
        counted = op.unsqueeze(op.cast(counts, torch.bool), 1)
        rows = chosen(op, counted, rows, op.scalar(start, op.dtype(rows)))
    result = _gathered(op, rows, bag, bags + 1, reduction, start)
    if mode == _MAX:  # an empty bag has no largest
        empty = op.unsqueeze(op.Equal(sizes, 0), 1)
        result = chosen(op, empty, op.scalar(0, op.dtype(rows)), result)
    if mode == _MEAN:
        result = op.Div(result, op.unsqueeze(op.cast(op.Max(sizes, 1), op.dtype(rows)), 1))
    # The other three results only serve the gradient.
    return sliced(op, result, 0, 0, bags, length=bags), None, None, None


@lowering(aten._embedding_bag.default, aten._embedding_bag_forward_only.default)
def embedding_bag_kernel(
    op: Emitter, weight: ir.Value, indices: ir.Value, offsets: ir.Value, *rest: Any
) -> Any:
    options = [*rest, *(False, _SUM, False, None, False, -1)[len(rest) :]]
    padding = options.pop()
    return embedding_bag(op, weight, indices, offsets, *options, None if padding == -1 else padding)


def _bag_of_each(op: Emitter, indices: ir.Value, offsets: ir.Value) -> ir.Value:
    """The number of the bag of every index: how many offsets lie at or before it, less one."""
    length = op.shape(indices)[0]
    blank = op.expand(op.const([0], torch.int64), (length + 1,))
    ones = op.expand(op.const([1], torch.int64), op.shape(offsets))
    marks = scattered(op, blank, 0, op.cast(offsets, torch.int64), ones, "add")
    found = op.Sub(op.CumSum(marks, op.const(0, torch.int64)), 1)
    return sliced(op, found, 0, 0, length, length=length)


def _counts(op: Emitter, weight: ir.Value, indices: ir.Value, padding_idx: int | None) -> ir.Value:
    """1 for every index that counts and 0 for padding."""
    if padding_idx is None:
        return op.expand(op.const([1], torch.int64), op.shape(indices))
    padding = op.scalar(padding_idx % op.shape(weight)[0], op.dtype(indices))
    return op.cast(op.Not(op.Equal(indices, padding)), torch.int64)


def _gathered(
    op: Emitter, values: ir.Value, bag: ir.Value, bags: Size, reduction: str, start: float
) -> ir.Value:
    """One row for every bag."""
    sizes = op.shape(values)
    blank = op.expand(op.scalar(start, op.dtype(values)), (bags, *sizes[1:]))
    places = bag if len(sizes) == 1 else op.expand(op.unsqueeze(bag, 1), sizes)
    return scattered(op, blank, 0, places, values, reduction)
