"""A tensor with a part of it replaced: what a write through a slice or a selection leaves."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.aten.reshaping import axis_of, is_one, is_zero, spread
from onnxpert.lower.aten.slicing import at_end, at_zero, clamped, extent, sliced
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, concrete, is_negative

aten = torch.ops.aten


@lowering(aten.select_scatter.default)
def select_scatter(op: Emitter, x: ir.Value, src: ir.Value, dim: int, index: Size) -> ir.Value:
    axis = axis_of(op, x, dim)
    sizes = op.shape(x)
    index = concrete(index)
    rest = (*sizes[:axis], *sizes[axis + 1 :])
    part = op.unsqueeze(spread(op, op.cast(src, op.dtype(x)), rest), axis)
    if axis == 0:  # a write of one row, in place if the runtime can
        place = op.reshape(op.scalar(index, torch.int64), (1, 1))
        return op.ScatterND(x, place, part)
    if is_negative(index) and not (
        isinstance(index, int) and isinstance(sizes[axis], torch.SymInt)
    ):
        index = concrete(index + sizes[axis])
    # A constant in a dimension of unknown size is counted from its end by Slice itself.
    after = None if isinstance(index, int) and index == -1 else index + 1
    return _replaced(op, x, part, axis, index, after)


@lowering(aten.slice_scatter.default)
def slice_scatter(
    op: Emitter,
    x: ir.Value,
    src: ir.Value,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> ir.Value:
    axis, step = axis_of(op, x, dim), concrete(step)
    sizes = op.shape(x)
    size = sizes[axis]
    length = extent(size, start, end, step)
    part = op.cast(src, op.dtype(x))
    if not is_zero(length):
        own = op.shape(part)
        width = own[axis - len(sizes)] if len(own) >= len(sizes) - axis else 1
        # The source's own length is the simplest name of it, unless it is broadcast.
        length = length if is_one(width) else width
    part = spread(op, part, (*sizes[:axis], length, *sizes[axis + 1 :]))
    if is_zero(length):
        return x
    if at_zero(start) and at_end(end, size) and is_one(step):
        return part
    first = clamped(start, size, 0)
    if is_one(step):
        return _replaced(op, x, part, axis, first, first + length)
    return _interleaved(op, x, part, axis, first, step)


def _replaced(
    op: Emitter, x: ir.Value, part: ir.Value, axis: int, start: Size, end: Size | None
) -> ir.Value:
    """What lies before, the part, what lies after."""
    pieces = [part]
    size = op.shape(x)[axis]
    if not at_zero(start):
        pieces.insert(0, sliced(op, x, axis, 0, start))
    if end is not None and not at_end(end, size):
        pieces.append(sliced(op, x, axis, end, None))
    whole = part if len(pieces) == 1 else op.Concat(*pieces, axis=axis)
    return op.describe(whole, op.shape(x))


def _interleaved(
    op: Emitter, x: ir.Value, part: ir.Value, axis: int, start: Size, step: Size
) -> ir.Value:
    """Every `step`-th place from the part: both side by side, then each place from its own."""
    size = op.shape(x)[axis]
    length = op.shape(part)[axis]
    both = op.Concat(x, part, axis=axis)
    place = count(op, size)
    taken = count(op, length, start=start, step=step)
    order = op.ScatterElements(place, taken, count(op, length, start=size), axis=0)
    return op.describe(op.Gather(both, order, axis=axis), op.shape(x))
