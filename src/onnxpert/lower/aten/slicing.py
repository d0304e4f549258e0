"""Parts of a tensor: slice, select, narrow, split, chunk, unbind."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import least, most
from onnxpert.lower.aten.reshaping import axis_of, is_one, is_zero
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, concrete, is_negative, is_static, may_be_negative, same

aten = torch.ops.aten

LAST = 2**63 - 1  # what torch and ONNX both take for "to the end"


def at_zero(size: Size | None) -> bool:
    return size is None or is_zero(size)


def at_end(end: Size | None, size: Size) -> bool:
    """Whether `end` is known to be the end of a dimension of `size`, or beyond."""
    if end is None or (isinstance(end, int) and end == LAST):
        return True
    return (is_static(end, size) and concrete(end) >= concrete(size)) or same(end, size)


def clamped(place: Size | None, size: Size, default: Size) -> Size:
    """A start or an end as torch takes it: negative from the end, then into 0..size."""
    if place is None or (isinstance(place, int) and place == LAST):
        return default
    place, size = concrete(place), concrete(size)
    if is_negative(place):
        return most(place + size, 0)
    if may_be_negative(place):
        before, within = least(place, 0), least(most(place, 0), size)
        return within + most(before + size, 0) - size - most(before, -1) * size
    return place if at_zero(place) or same(place, size) else least(place, size)


def extent(size: Size, start: Size | None, end: Size | None, step: Size = 1) -> Size:
    """How many elements a slice has."""
    first, last = clamped(start, size, 0), clamped(end, size, size)
    length = concrete(last - first)
    if isinstance(length, int) or may_be_negative(length):
        length = most(length, 0)
    return concrete((length + step - 1) // step)


def sliced(
    op: Emitter,
    x: ir.Value,
    axis: int,
    start: Size | None,
    end: Size | None,
    *,
    step: Size = 1,
    length: Size | None = None,
) -> ir.Value:
    """`x[..., start:end:step, ...]`; slices of other dimensions join the one they follow."""
    sizes = op.shape(x)
    if at_zero(start) and at_end(end, sizes[axis]) and is_one(step):
        return x
    length = extent(sizes[axis], start, end, step) if length is None else length
    places = [op.ints([0 if start is None else start]), op.ints([LAST if end is None else end])]
    extra = [op.ints([axis]), op.ints([step])]
    base = _joined(x, axis)
    if base is not None:
        origin, earlier = base
        joined = [op.Concat(a, b, axis=0) for a, b in zip(earlier, [*places, *extra], strict=True)]
        result = op.Slice(origin, *joined)
    else:
        result = op.Slice(x, *places, *extra)
    return op.describe(result, (*sizes[:axis], length, *sizes[axis + 1 :]))


def _joined(x: ir.Value, axis: int) -> tuple[ir.Value, list[ir.Value]] | None:
    """The Slice of other axes that made `x`, if its places are constants."""
    node = x.producer()
    if node is None or node.op_type != "Slice" or node.domain or len(node.inputs) != 5:
        return None
    origin, *places = node.inputs
    if origin is None or any(p is None or p.const_value is None for p in places):
        return None
    axes = places[2].const_value.numpy().tolist()  # type: ignore[union-attr]
    return None if axis in axes else (origin, places)  # type: ignore[return-value]


@lowering(aten.slice.Tensor, aten.slice_copy.Tensor)
def slice(
    op: Emitter,
    x: ir.Value,
    dim: int = 0,
    start: Size | None = None,
    end: Size | None = None,
    step: Size = 1,
) -> ir.Value:
    axis = axis_of(op, x, dim)
    step = concrete(step)
    length = op.out.shape[axis] if op.out is not None else None
    return sliced(op, x, axis, start, end, step=step, length=length)


@lowering(aten.narrow.default, aten.narrow_copy.default)
def narrow(op: Emitter, x: ir.Value, dim: int, start: Size, length: Size) -> ir.Value:
    axis = axis_of(op, x, dim)
    start = concrete(start)
    if is_negative(start):
        start = start + op.shape(x)[axis]
    return sliced(op, x, axis, start, start + length, length=length)


@lowering(aten.narrow.Tensor)
def narrow_tensor(op: Emitter, x: ir.Value, dim: int, start: ir.Value, length: Size) -> ir.Value:
    axis = axis_of(op, x, dim)
    size = op.shape(x)[axis]
    places = op.Range(op.scalar(0, torch.int64), op.scalar(length, torch.int64), 1)
    first = op.Mod(op.reshape(op.cast(start, torch.int64), (1,)), op.ints([size]))
    return op.Gather(x, op.describe(op.Add(places, first), (length,)), axis=axis)


def picked(op: Emitter, x: ir.Value, axis: int, index: Size) -> ir.Value:
    return op.Gather(x, op.scalar(concrete(index), torch.int64), axis=axis)


@lowering(aten.select.int, aten.select_copy.int)
def select(op: Emitter, x: ir.Value, dim: int, index: Size) -> ir.Value:
    return picked(op, x, axis_of(op, x, dim), index)


@lowering(aten.unbind.int, aten.unbind_copy.int)
def unbind(op: Emitter, x: ir.Value, dim: int = 0) -> Any:
    axis = axis_of(op, x, dim)
    count = concrete(op.shape(x)[axis]) if op.out is None else len(op.out)
    if not isinstance(count, int):
        raise Refusal("the number of slices that unbind gives is not a constant")
    return tuple(picked(op, x, axis, index) for index in range(count))


# ---- several parts -------------------------------------------------------------------------


def _pieces(op: Emitter, axis: int) -> list[Size]:
    return [concrete(piece.shape[axis]) for piece in op.out]


def _equal_pieces(size: Size, length: Size) -> list[Size]:
    size, length = concrete(size), concrete(length)
    if not (isinstance(size, int) and isinstance(length, int)):
        raise Refusal("the number of pieces is not a constant")
    if length == 0:
        return [size]
    return [min(length, size - start) for start in range(0, max(size, 1), length)]


@lowering(aten.split.Tensor, aten.unsafe_split.Tensor, aten.split_copy.Tensor)
def split(op: Emitter, x: ir.Value, split_size: Size, dim: int = 0) -> Any:
    axis = axis_of(op, x, dim)
    sizes = _equal_pieces(op.shape(x)[axis], split_size) if op.out is None else _pieces(op, axis)
    return op.split(x, sizes, axis)


@lowering(
    aten.split.sizes,
    aten.split.default,
    aten.split_with_sizes.default,
    aten.unsafe_split_with_sizes.default,
    aten.split_with_sizes_copy.default,
)
def split_with_sizes(op: Emitter, x: ir.Value, split_sizes: Sequence[Size], dim: int = 0) -> Any:
    return op.split(x, list(split_sizes), axis_of(op, x, dim))


@lowering(aten.chunk.default, aten.unsafe_chunk.default)
def chunk(op: Emitter, x: ir.Value, chunks: int, dim: int = 0) -> Any:
    axis = axis_of(op, x, dim)
    size = op.shape(x)[axis]
    if op.out is None:
        return op.split(x, _equal_pieces(size, (size + chunks - 1) // chunks), axis)
    sizes = _pieces(op, axis)
    if op.opset < 18 or is_static(*sizes) or len(sizes) != chunks or chunks == 1:
        return op.split(x, sizes, axis)
    # Split cuts into equal pieces as torch does, without being told their size.
    pieces = op.emit("Split", x, axis=axis, num_outputs=chunks, _outputs=chunks)
    before = op.shape(x)
    return tuple(
        op.describe(piece, (*before[:axis], length, *before[axis + 1 :]))
        for piece, length in zip(pieces, sizes, strict=True)
    )


@lowering(aten.tensor_split.sections)
def tensor_split(op: Emitter, x: ir.Value, sections: Size, dim: int = 0) -> Any:
    axis = axis_of(op, x, dim)
    size, sections = concrete(op.shape(x)[axis]), concrete(sections)
    if not isinstance(sections, int):
        raise Refusal("the number of pieces is not a constant")
    longer = size % sections  # the first ones take the remainder, one each
    if isinstance(longer, int):
        sizes = [size // sections + (1 if i < longer else 0) for i in range(sections)]
    else:
        sizes = [(size + sections - 1 - i) // sections for i in range(sections)]
    return op.split(x, sizes, axis)


@lowering(aten.tensor_split.indices)
def tensor_split_at(op: Emitter, x: ir.Value, indices: Sequence[Size], dim: int = 0) -> Any:
    # The places may lie outside or go backwards: every piece is a slice of its own.
    axis = axis_of(op, x, dim)
    bounds = [0, *indices, LAST]
    return tuple(
        sliced(op, x, axis, start, end, length=None if op.out is None else piece)
        for start, end, piece in zip(
            bounds,
            bounds[1:],
            _pieces(op, axis) if op.out is not None else bounds[1:],
            strict=False,
        )
    )


@lowering(aten.tensor_split.tensor_indices_or_sections)
def tensor_split_where(op: Emitter, x: ir.Value, indices: ir.Value, dim: int = 0) -> Any:
    if op.rank(indices) != 1 or not is_static(op.shape(indices)[0]):
        raise Refusal("the number of pieces is not a constant")
    axis, count = axis_of(op, x, dim), concrete(op.shape(indices)[0])
    places = op.split(op.cast(indices, torch.int64), [1] * count, 0) if count else ()
    bounds = [op.ints([0]), *places, op.ints([LAST])]
    return tuple(
        op.Slice(x, start, end, op.ints([axis])) for start, end in itertools.pairwise(bounds)
    )


def _axis_of_h(op: Emitter, x: ir.Value) -> int:
    return 0 if op.rank(x) == 1 else 1


@lowering(aten.hsplit.int)
def hsplit(op: Emitter, x: ir.Value, sections: int) -> Any:
    return tensor_split(op, x, sections, _axis_of_h(op, x))


@lowering(aten.hsplit.array)
def hsplit_at(op: Emitter, x: ir.Value, indices: Sequence[int]) -> Any:
    return tensor_split_at(op, x, indices, _axis_of_h(op, x))


@lowering(aten.vsplit.int)
def vsplit(op: Emitter, x: ir.Value, sections: int) -> Any:
    return tensor_split(op, x, sections, 0)


@lowering(aten.vsplit.array)
def vsplit_at(op: Emitter, x: ir.Value, indices: Sequence[int]) -> Any:
    return tensor_split_at(op, x, indices, 0)


@lowering(aten.dsplit.int)
def dsplit(op: Emitter, x: ir.Value, sections: int) -> Any:
    return tensor_split(op, x, sections, 2)


@lowering(aten.dsplit.array)
def dsplit_at(op: Emitter, x: ir.Value, indices: Sequence[int]) -> Any:
    return tensor_split_at(op, x, indices, 2)
