"""Another order of dimensions or of elements: permute, transpose, flip, roll, shuffles."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import KERNELS
from onnxpert.lower.aten.counting import most
from onnxpert.lower.aten.reshaping import axis_of, is_zero
from onnxpert.lower.aten.slicing import sliced
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten

FIRST = -(2**63)  # Slice's "to the very beginning", going backwards


def transposed(op: Emitter, x: ir.Value, order: Sequence[int]) -> ir.Value:
    """`x` with its dimensions in `order`; a transpose of a transpose is one, or none."""
    order = list(order)
    if order == list(range(len(order))):
        return x
    node = x.producer()
    if node is not None and node.op_type == "Transpose" and node.domain == "":
        before = node.attributes["perm"].as_ints()
        origin = node.inputs[0]
        if origin is not None and origin.meta.get("shape") is not None:
            return transposed(op, origin, [before[axis] for axis in order])
    return op.Transpose(x, perm=order)


def swapped(op: Emitter, x: ir.Value, a: int, b: int) -> ir.Value:
    order = list(range(op.rank(x)))
    if order:
        order[a], order[b] = order[b], order[a]
    return transposed(op, x, order)


def moved(op: Emitter, x: ir.Value, source: Sequence[int], target: Sequence[int]) -> ir.Value:
    """The dimensions `source` at the places `target`, the others in their order around them."""
    rank = op.rank(x)
    places = {to % rank: come % rank for come, to in zip(source, target, strict=True)}
    rest = iter(axis for axis in range(rank) if axis not in places.values())
    return transposed(op, x, [places[i] if i in places else next(rest) for i in range(rank)])


@lowering(aten.permute.default, aten.permute_copy.default)
def permute(op: Emitter, x: ir.Value, dims: Sequence[int]) -> ir.Value:
    return transposed(op, x, [axis_of(op, x, dim) for dim in dims])


@lowering(aten.transpose.int, aten.transpose_copy.int, aten.swapaxes.default, aten.swapdims.default)
def transpose(op: Emitter, x: ir.Value, dim0: int, dim1: int) -> ir.Value:
    return swapped(op, x, dim0, dim1)


@lowering(aten.t.default, aten.t_copy.default)
def t(op: Emitter, x: ir.Value) -> ir.Value:
    return swapped(op, x, 0, -1)


@lowering(aten.mT.default, aten.mH.default, aten.adjoint.default, aten.matrix_H.default)
def matrix_transpose(op: Emitter, x: ir.Value) -> ir.Value:
    return swapped(op, x, -2, -1)


@lowering(aten.numpy_T.default)
def reverse(op: Emitter, x: ir.Value) -> ir.Value:
    return transposed(op, x, range(op.rank(x) - 1, -1, -1))


@lowering(aten.movedim.int, aten.moveaxis.int)
def movedim(op: Emitter, x: ir.Value, source: int, destination: int) -> ir.Value:
    return moved(op, x, [source], [destination]) if op.rank(x) else x


@lowering(aten.movedim.intlist, aten.moveaxis.intlist)
def movedims(
    op: Emitter, x: ir.Value, source: Sequence[int], destination: Sequence[int]
) -> ir.Value:
    return moved(op, x, source, destination) if op.rank(x) else x


# ---- the order of elements -----------------------------------------------------------------


def flipped(op: Emitter, x: ir.Value, dims: Sequence[int]) -> ir.Value:
    axes = sorted({dim % op.rank(x) for dim in dims}) if op.rank(x) else []
    if not axes:
        return x
    count = len(axes)
    result = op.Slice(x, [-1] * count, [FIRST] * count, axes, [-1] * count)
    return op.describe(result, op.shape(x))


@lowering(aten.flip.default)
def flip(op: Emitter, x: ir.Value, dims: Sequence[int]) -> ir.Value:
    return flipped(op, x, dims)


@lowering(aten.fliplr.default)
def fliplr(op: Emitter, x: ir.Value) -> ir.Value:
    return flipped(op, x, [1])


@lowering(aten.flipud.default)
def flipud(op: Emitter, x: ir.Value) -> ir.Value:
    return flipped(op, x, [0])


@lowering(aten.rot90.default)
def rot90(op: Emitter, x: ir.Value, k: int = 1, dims: Sequence[int] = (0, 1)) -> ir.Value:
    turns, (a, b) = k % 4, dims
    if turns == 1:
        return swapped(op, flipped(op, x, [b]), a, b)
    if turns == 3:
        return swapped(op, flipped(op, x, [a]), a, b)
    return flipped(op, x, [a, b]) if turns else x


@lowering(aten.roll.default)
def roll(op: Emitter, x: ir.Value, shifts: Sequence[Size], dims: Sequence[int] = ()) -> ir.Value:
    sizes = op.shape(x)
    if not dims:
        flat = op.reshape(x, (product(sizes),))
        return op.reshape(_rolled(op, flat, sum(shifts), 0), sizes)
    for shift, dim in zip(shifts, dims, strict=True):
        x = _rolled(op, x, shift, axis_of(op, x, dim))
    return x


def _rolled(op: Emitter, x: ir.Value, shift: Size, axis: int) -> ir.Value:
    size = op.shape(x)[axis]
    if is_zero(size):
        return x
    # Where nothing is left of a size, there is nothing to divide by.
    cut = concrete(-shift % most(size, 1))
    if is_zero(cut):
        return x
    back = sliced(op, x, axis, cut, None, length=size - cut)
    front = sliced(op, x, axis, 0, cut, length=cut)
    return op.describe(op.Concat(back, front, axis=axis), op.shape(x))


# ---- shuffles ------------------------------------------------------------------------------


@lowering(aten.channel_shuffle.default, aten.native_channel_shuffle.default)
def channel_shuffle(op: Emitter, x: ir.Value, groups: Size) -> ir.Value:
    batch, channels, *rest = op.shape(x)
    grouped = op.reshape(x, (batch, groups, channels // groups, *rest))
    return op.reshape(swapped(op, grouped, 1, 2), (batch, channels, *rest))


@lowering(aten.pixel_shuffle.default)
def pixel_shuffle(op: Emitter, x: ir.Value, upscale_factor: int) -> ir.Value:
    *batch, channels, height, width = op.shape(x)
    factor = upscale_factor
    wanted = (*batch, channels // factor**2, height * factor, width * factor)
    if len(batch) == 1 and op.dtype(x) in KERNELS["DepthToSpace"]:
        return op.describe(op.DepthToSpace(x, blocksize=factor, mode="CRD"), wanted)
    parts = op.reshape(x, (*batch, channels // factor**2, factor, factor, height, width))
    first, b = list(range(len(batch) + 1)), len(batch) + 1
    return op.reshape(transposed(op, parts, [*first, b + 2, b, b + 3, b + 1]), wanted)


@lowering(aten.pixel_unshuffle.default)
def pixel_unshuffle(op: Emitter, x: ir.Value, downscale_factor: int) -> ir.Value:
    *batch, channels, height, width = op.shape(x)
    factor = downscale_factor
    rows, columns = height // factor, width // factor
    parts = op.reshape(x, (*batch, channels, rows, factor, columns, factor))
    first, b = list(range(len(batch) + 1)), len(batch) + 1
    shuffled = transposed(op, parts, [*first, b + 1, b + 3, b, b + 2])
    return op.reshape(shuffled, (*batch, channels * factor**2, rows, columns))
