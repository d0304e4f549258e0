"""The same elements several times: repeat, tile, repeat_interleave."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import carried
from onnxpert.lower.aten.reshaping import axis_of, is_one, spread
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten


@lowering(aten.repeat.default)
def repeat(op: Emitter, x: ir.Value, repeats: Sequence[Size]) -> ir.Value:
    times = tuple(map(concrete, repeats))
    own = op.shape(x)
    own = (1,) * (len(times) - len(own)) + own
    wanted = tuple(concrete(size * count) for size, count in zip(own, times, strict=True))
    lifted = op.reshape(x, own)
    if all(is_one(size) or is_one(count) for size, count in zip(own, times, strict=True)):
        return spread(op, lifted, wanted)  # what is only broadcast need not be copied about
    tiled = carried(op, "Tile", lambda value: op.Tile(value, op.ints(times)), lifted)
    return op.describe(tiled, wanted)


@lowering(aten.tile.default)
def tile(op: Emitter, x: ir.Value, dims: Sequence[Size]) -> ir.Value:
    return repeat(op, x, [1] * (op.rank(x) - len(dims)) + list(dims))


@lowering(aten.repeat_interleave.self_int)
def repeat_interleave(
    op: Emitter,
    x: ir.Value,
    repeats: Size,
    dim: int | None = None,
    *,
    output_size: Size | None = None,
) -> ir.Value:
    if dim is None:
        x, dim = op.reshape(x, (product(op.shape(x)),)), 0
    if is_one(concrete(repeats)):
        return x
    sizes = op.shape(x) or (1,)
    axis = dim % len(sizes)
    before, after = sizes[: axis + 1], sizes[axis + 1 :]
    column = op.reshape(x, (*before, 1, *after))
    wide = spread(op, column, (*before, repeats, *after))
    return op.reshape(wide, (*sizes[:axis], sizes[axis] * repeats, *after))


@lowering(aten.repeat_interleave.Tensor)
def repeated_indices(
    op: Emitter, repeats: ir.Value, *, output_size: Size | None = None
) -> ir.Value:
    """0 as often as the first number says, then 1 as often as the second does, and so on."""
    counts = op.cast(repeats, torch.int64)
    ends = op.CumSum(counts, op.const(0, torch.int64))
    total = op.reduce("ReduceSum", counts, [0], True)
    if op.opset < 16:  # no adding scatter: compare every place with every end
        places = op.Range(op.const(0, torch.int64), op.squeeze(total, 0), 1)
        past = op.Not(op.Less(op.unsqueeze(places, 1), op.unsqueeze(ends, 0)))
        return op.ReduceSum(op.cast(past, torch.int64), [1], keepdims=0)
    # A place belongs to the element whose number is the count of the ends at or before it.
    zeros = op.Expand(op.const([0], torch.int64), op.Add(total, 1))
    ones = op.expand(op.const([1], torch.int64), op.shape(repeats))
    marks = op.ScatterElements(zeros, ends, ones, axis=0, reduction="add")
    return op.Slice(op.CumSum(marks, op.const(0, torch.int64)), [0], [-1], [0])


@lowering(aten.repeat_interleave.self_Tensor)
def repeat_interleave_each(
    op: Emitter,
    x: ir.Value,
    repeats: ir.Value,
    dim: int | None = None,
    *,
    output_size: Size | None = None,
) -> ir.Value:
    if dim is None:
        x, dim = op.reshape(x, (product(op.shape(x)),)), 0
    axis = axis_of(op, x, dim)
    if op.rank(x) == 0:
        x = op.reshape(x, (1,))
    if op.rank(repeats) == 0 or is_one(op.shape(repeats)[0]):
        repeats = spread(op, repeats, (op.shape(x)[axis],))
    return op.Gather(x, repeated_indices(op, repeats), axis=axis)
