"""Indexing by tensors: `x[i, :, mask]` in every mixture, read and written."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import carrier
from onnxpert.lower.aten.permuting import transposed
from onnxpert.lower.aten.reshaping import is_one, is_zero, spread
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen
from onnxpert.lower.shapes import Shape, broadcast, product
from onnxpert.lower.symbols import Size

aten = torch.ops.aten
Indices = Sequence[ir.Value | None]
_MASKS = (torch.bool, torch.uint8)


@dataclass(frozen=True)
class Places:
    """The indexed dimensions and what indexes them: int64 tensors that broadcast together."""

    axes: tuple[int, ...]
    indices: tuple[ir.Value, ...]

    @property
    def adjacent(self) -> bool:
        """torch puts the result where the indices stood if they stood together, else in front."""
        return self.axes == tuple(range(self.axes[0], self.axes[-1] + 1))

    def rest(self, rank: int) -> list[int]:
        return [axis for axis in range(rank) if axis not in self.axes]


def places(op: Emitter, x: ir.Value, indices: Indices) -> Places:
    axes: list[int] = []
    found: list[ir.Value] = []
    axis = 0
    for index in indices:
        if index is None:
            axis += 1
        elif op.dtype(index) in _MASKS:
            pieces = coordinates(op, index)
            axes += range(axis, axis + len(pieces))
            found += pieces
            axis += len(pieces)
        else:
            axes.append(axis)
            found.append(op.cast(index, torch.int64))
            axis += 1
    if not axes:
        raise Refusal("there is no dimension to index")
    return Places(tuple(axes), tuple(found))


def coordinates(op: Emitter, mask: ir.Value) -> list[ir.Value]:
    """Where a mask is true: a tensor of positions for each of its dimensions."""
    rank = op.rank(mask)
    if rank == 0:
        raise Refusal("a mask without dimensions adds one whose size depends on its value")
    found = op.NonZero(op.cast(mask, torch.bool))
    if rank == 1:
        return [op.squeeze(found, 0)]
    rows = op.emit("Split", found, op.ints([1] * rank), axis=0, _outputs=rank)
    return [op.squeeze(row, 0) for row in rows]


def lone_mask(op: Emitter, indices: Indices) -> tuple[int, ir.Value] | None:
    """The mask and the dimension it starts at, when it is the only index."""
    given = [(axis, index) for axis, index in enumerate(indices) if index is not None]
    if len(given) != 1 or op.dtype(given[0][1]) not in _MASKS or not op.rank(given[0][1]):
        return None
    return given[0]


def _unified(op: Emitter, indices: Sequence[ir.Value]) -> tuple[list[ir.Value], Shape | None]:
    """The indices in their common shape, and that shape where it is known."""
    shapes = [index.meta.get("shape") for index in indices]
    if None not in shapes:
        wanted = broadcast(*shapes)  # type: ignore[arg-type]
        return [op.expand(index, wanted) for index in indices], wanted
    # The length of what a mask found is known to the runtime only; so is what comes of it.
    finders = [_finder(index) for index in indices]
    if all(finder is not None and finder is finders[0] for finder in finders):
        return list(indices), None  # all of one mask: as long as each other
    nothing = functools.reduce(op.Add, [op.Mul(index, 0) for index in indices])
    return [op.Add(index, nothing) for index in indices], None


def _finder(index: ir.Value) -> ir.Node | None:
    """The NonZero that found these positions."""
    node = index.producer()
    while node is not None and node.op_type in {"Squeeze", "Split"}:
        node = node.inputs[0].producer() if node.inputs[0] is not None else None
    return node if node is not None and node.op_type == "NonZero" else None


def _rows(op: Emitter, indices: Sequence[ir.Value]) -> ir.Value:
    """The unified indices as the rows of GatherND and ScatterND."""
    parts = [op.Unsqueeze(index, [-1]) for index in indices]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=-1)


def linear(op: Emitter, indices: Sequence[ir.Value], sizes: Sequence[Size]) -> ir.Value:
    """One index into the flattened dimensions in place of one for each."""
    total: ir.Value | None = None
    for place, (index, size) in enumerate(zip(indices, sizes, strict=True)):
        # Counted from the front: a negative index would reach into the row before.
        own = (
            index
            if _nonnegative(index) or is_zero(size)
            else op.Mod(index, op.scalar(size, torch.int64))
        )
        stride = product(sizes[place + 1 :])
        own = own if is_one(stride) else op.Mul(own, op.scalar(stride, torch.int64))
        total = own if total is None else op.Add(total, own)
    assert total is not None
    return total


_KEEP_SIGN = frozenset(
    {"Unsqueeze", "Squeeze", "Reshape", "Expand", "Cast", "Transpose", "Slice", "Tile", "Split"}
)


def _nonnegative(index: ir.Value) -> bool:
    """Known never to be negative."""
    if index.const_value is not None:
        return bool((index.const_value.numpy() >= 0).all())
    node = index.producer()
    if node is None:
        return False
    if node.op_type in {"NonZero", "ArgMax", "ArgMin"}:
        return True
    if node.op_type == "Range":
        return all(_nonnegative(place) for place in node.inputs[::2] if place is not None)
    if node.op_type in _KEEP_SIGN:
        return node.inputs[0] is not None and _nonnegative(node.inputs[0])
    return False


# ---- reading -------------------------------------------------------------------------------


@lowering(
    aten.index.Tensor,
    aten.index.Tensor_hacked_twin,
    aten._unsafe_index.Tensor,
    aten._unsafe_index.Tensor_hacked_twin,
)
def index(op: Emitter, x: ir.Value, indices: Indices) -> ir.Value:
    mask = lone_mask(op, indices)
    if mask is not None:
        return _masked(op, x, *mask)
    at = places(op, x, indices)
    if len(at.axes) == 1:
        return op.Gather(x, at.indices[0], axis=at.axes[0])
    sizes = op.shape(x)
    first, last = at.axes[0], at.axes[-1] + 1
    if at.adjacent and first > 0:
        merged = product(sizes[first:last])
        flat = op.reshape(x, (*sizes[:first], merged, *sizes[last:]))
        return op.Gather(flat, linear(op, at.indices, sizes[first:last]), axis=first)
    front = transposed(op, x, [*at.axes, *at.rest(len(sizes))])
    return op.GatherND(front, _rows(op, _unified(op, at.indices)[0]))


def _masked(op: Emitter, x: ir.Value, axis: int, mask: ir.Value) -> ir.Value:
    sizes, count = op.shape(x), op.rank(mask)
    merged = product(sizes[axis : axis + count])
    flat = op.reshape(x, (*sizes[:axis], merged, *sizes[axis + count :]))
    kept = op.reshape(op.cast(mask, torch.bool), (merged,))
    return op.Compress(flat, kept, axis=axis)


# ---- writing -------------------------------------------------------------------------------


@lowering(
    aten.index_put.default,
    aten.index_put.hacked_twin,
    aten._unsafe_index_put.default,
    aten._unsafe_index_put.hacked_twin,
    aten._index_put_impl.default,
)
def index_put(
    op: Emitter,
    x: ir.Value,
    indices: Indices,
    values: ir.Value,
    accumulate: bool = False,
    unsafe: bool = False,
) -> ir.Value:
    values = op.cast(values, op.dtype(x))
    mask = lone_mask(op, indices)
    if mask is not None:
        chosen = _put_where(op, x, *mask, values, accumulate)
        if chosen is not None:
            return chosen
    at = places(op, x, indices)
    rank = op.rank(x)
    order = [*at.axes, *at.rest(rank)]
    unified, common = _unified(op, at.indices)
    rows = _update_rows(op, x, at, unified[0], common, values)
    front = transposed(op, x, order)
    if accumulate:
        written = _added(op, front, unified, rows, len(at.axes))
    else:
        written = op.ScatterND(front, _rows(op, unified), rows)
    written = op.describe(written, op.shape(front))
    return transposed(op, written, [order.index(axis) for axis in range(rank)])


def _put_where(
    op: Emitter, x: ir.Value, axis: int, mask: ir.Value, values: ir.Value, accumulate: bool
) -> ir.Value | None:
    """`x[mask] = v` for a value that does not depend on how many places there are."""
    count, sizes, own = op.rank(mask), op.shape(x), op.shape(values)
    behind = len(sizes) - axis - count  # dimensions after the masked ones
    if len(own) > behind:
        if not is_one(own[len(own) - behind - 1]):
            return None
        before, after = own[: len(own) - behind - 1], own[len(own) - behind :]
        values = op.reshape(values, (*before, *(1,) * count, *after))
    condition = op.reshape(op.cast(mask, torch.bool), (*op.shape(mask), *(1,) * behind))
    if accumulate:
        values = call(op, "Add", x, values)
    return chosen(op, condition, values, x)


def _update_rows(
    op: Emitter,
    x: ir.Value,
    at: Places,
    index: ir.Value,
    common: Shape | None,
    values: ir.Value,
) -> ir.Value:
    """The values in the shape of what they replace: the indices' dimensions, then the rest."""
    sizes = op.shape(x)
    rest = [sizes[axis] for axis in at.rest(len(sizes))]
    first = at.axes[0] if at.adjacent else 0
    if common is None:  # what a mask found has one dimension, of a length that is not known
        width = max(len(each.meta.get("shape") or (0,)) for each in at.indices)
        wide = _spread_by_runtime(op, index, rest, first, values)
        return op.Transpose(wide, perm=_indices_first(first, width, len(rest)))
    before, after = rest[:first], rest[first:]
    wide = spread(op, values, (*before, *common, *after))
    return transposed(op, wide, _indices_first(first, len(common), len(rest)))


def _indices_first(first: int, width: int, rest: int) -> list[int]:
    """The order that brings the dimensions of the indices before all others."""
    return [*range(first, first + width), *range(first), *range(first + width, width + rest)]


def _spread_by_runtime(
    op: Emitter, index: ir.Value, rest: Sequence[Size], first: int, values: ir.Value
) -> ir.Value:
    parts = [op.ints(rest[:first])] if first else []
    parts.append(op.Shape(index))
    parts += [op.ints(rest[first:])] if rest[first:] else []
    return op.Expand(values, parts[0] if len(parts) == 1 else op.Concat(*parts, axis=0))


def _added(
    op: Emitter, front: ir.Value, indices: Sequence[ir.Value], rows: ir.Value, count: int
) -> ir.Value:
    """Repeated places add up. (ScatterND's own sum loses some: its threads do not wait.)"""
    if op.opset < 16:
        raise Refusal("adding to repeated places needs opset 16", 16)
    sizes = op.shape(front)
    height, width = product(sizes[:count]), product(sizes[count:])
    place = op.Reshape(linear(op, indices, sizes[:count]), [-1, 1])
    flat = op.reshape(front, (height, width))
    updates = op.Reshape(rows, op.ints([-1, width]))
    own = op.dtype(front)
    wide = carrier("Scatter", own)
    result = op.ScatterElements(
        op.cast(flat, wide),
        op.Expand(place, op.Shape(updates)),
        op.cast(updates, wide),
        axis=0,
        reduction="add",
    )
    return op.reshape(op.cast(op.describe(result, (height, width)), own), sizes)


@lowering(aten.put.default)
def put(
    op: Emitter, x: ir.Value, index: ir.Value, source: ir.Value, accumulate: bool = False
) -> ir.Value:
    sizes = op.shape(x)
    flat = op.reshape(x, (product(sizes),))
    places = op.reshape(index, (product(op.shape(index)),))
    values = op.reshape(source, op.shape(places))
    if accumulate:
        return op.reshape(_added(op, flat, [places], values, 1), sizes)
    return op.reshape(op.ScatterElements(flat, places, values, axis=0), sizes)
