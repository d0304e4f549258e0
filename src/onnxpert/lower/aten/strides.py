"""Views by strides: elements named by where they lie in memory."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import grid
from onnxpert.lower.aten.scattering import scattered
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, concrete, same

aten = torch.ops.aten


def _lies_in_order(x: torch.Tensor) -> bool:
    """Whether an element's place in memory is its place in the tensor."""
    step: Size = 1
    for size, stride in zip(reversed(x.shape), reversed(x.stride()), strict=True):
        if not same(concrete(size), 1) and not same(concrete(stride), concrete(step)):
            return False
        step = step * size
    return same(concrete(x.storage_offset()), 0)


def _places(
    op: Emitter, size: Sequence[Size], stride: Sequence[Size], offset: Size | None
) -> ir.Value:
    base = op.given[0] if op.given else None
    if not isinstance(base, torch.Tensor) or not _lies_in_order(base):
        raise Refusal("a view by strides of a tensor whose elements do not lie in order")
    return grid(op, list(size), list(stride), 0 if offset is None else offset)


@lowering(aten.as_strided.default, aten.as_strided_copy.default)
def as_strided(
    op: Emitter,
    x: ir.Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> ir.Value:
    flat = op.reshape(x, (product(op.shape(x)),))
    return op.Gather(flat, _places(op, size, stride, storage_offset), axis=0)


@lowering(aten.as_strided_scatter.default)
def as_strided_scatter(
    op: Emitter,
    x: ir.Value,
    src: ir.Value,
    size: Sequence[Size],
    stride: Sequence[Size],
    storage_offset: Size | None = None,
) -> ir.Value:
    flat = op.reshape(x, (product(op.shape(x)),))
    count = product(list(size))
    places = op.reshape(_places(op, size, stride, storage_offset), (count,))
    updates = op.reshape(op.cast(src, op.dtype(x)), (count,))
    return op.reshape(scattered(op, flat, 0, places, updates), op.shape(x))
