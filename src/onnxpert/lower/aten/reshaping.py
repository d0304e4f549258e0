"""Other shapes of the same elements: view, flatten, squeeze, expand and their kin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import carried
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import Shape, broadcast, product
from onnxpert.lower.symbols import Size, concrete, same

aten = torch.ops.aten


def is_one(size: Size) -> bool:
    """Known to be 1; a symbolic size never is."""
    return isinstance(size, int) and size == 1


def is_zero(size: Size) -> bool:
    """Known to be 0; a symbolic size never is."""
    return isinstance(size, int) and size == 0


def is_minus_one(size: Size) -> bool:
    return isinstance(size, int) and size == -1


def axis_of(op: Emitter, x: ir.Value, dim: int) -> int:
    """A dimension counted from the front; a 0-d tensor is taken for one with a single element."""
    return dim % max(op.rank(x), 1)


def resolved(op: Emitter, x: ir.Value, sizes: Sequence[Size]) -> Shape:
    """The sizes with the one that is -1 worked out."""
    wanted = tuple(map(concrete, sizes))
    if not any(map(is_minus_one, wanted)):
        return wanted
    rest = product([size for size in wanted if not is_minus_one(size)])
    missing = 0 if is_zero(rest) else product(op.shape(x)) // rest
    return tuple(missing if is_minus_one(size) else size for size in wanted)


def _settled(op: Emitter, x: ir.Value, sizes: Sequence[Size]) -> Shape:
    return tuple(op.out.shape) if op.out is not None else resolved(op, x, sizes)


@lowering(
    aten.view.default,
    aten.reshape.default,
    aten._unsafe_view.default,
    aten.view_copy.default,
    aten._reshape_copy.default,
    aten._reshape_alias.default,
)
def view(op: Emitter, x: ir.Value, size: Sequence[Size], stride: Any = None) -> ir.Value:
    return op.reshape(x, _settled(op, x, size))


@lowering(aten.view_as.default, aten.reshape_as.default)
def view_as(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return op.reshape(x, op.shape(other))


@lowering(aten.flatten.using_ints)
def flatten(op: Emitter, x: ir.Value, start_dim: int = 0, end_dim: int = -1) -> ir.Value:
    sizes = op.shape(x)
    if not sizes:
        return op.reshape(x, (1,))
    start, end = start_dim % len(sizes), end_dim % len(sizes)
    return op.reshape(x, (*sizes[:start], product(sizes[start : end + 1]), *sizes[end + 1 :]))


@lowering(aten.ravel.default)
def ravel(op: Emitter, x: ir.Value) -> ir.Value:
    return op.reshape(x, (product(op.shape(x)),))


@lowering(aten.unflatten.int)
def unflatten(op: Emitter, x: ir.Value, dim: int, sizes: Sequence[Size]) -> ir.Value:
    if op.out is not None:
        return op.reshape(x, tuple(op.out.shape))
    before = op.shape(x)
    dim %= len(before)
    rest = product([size for size in sizes if not is_minus_one(size)])
    parts = [before[dim] // rest if is_minus_one(size) else size for size in sizes]
    return op.reshape(x, (*before[:dim], *parts, *before[dim + 1 :]))


# ---- dimensions of size 1 ------------------------------------------------------------------


@lowering(aten.unsqueeze.default, aten.unsqueeze_copy.default)
def unsqueeze(op: Emitter, x: ir.Value, dim: int) -> ir.Value:
    return op.unsqueeze(x, dim % (op.rank(x) + 1))


@lowering(aten.squeeze.default, aten.squeeze_copy.default)
def squeeze(op: Emitter, x: ir.Value) -> ir.Value:
    return squeeze_dims(op, x, range(op.rank(x)))


@lowering(aten.squeeze.dim, aten.squeeze_copy.dim)
def squeeze_dim(op: Emitter, x: ir.Value, dim: int) -> ir.Value:
    return squeeze_dims(op, x, [dim])


@lowering(aten.squeeze.dims, aten.squeeze_copy.dims)
def squeeze_dims(op: Emitter, x: ir.Value, dim: Sequence[int]) -> ir.Value:
    # torch leaves a dimension of another size alone, and so does not ONNX.
    sizes = op.shape(x)
    axes = [axis % len(sizes) for axis in dim] if sizes else []
    ones = [axis for axis in axes if is_one(sizes[axis])]
    if op.out is not None and len(sizes) - len(ones) != op.out.dim():
        ones = _gone(sizes, axes, op.out.shape)
    return op.squeeze(x, *ones) if ones else x


def _gone(sizes: Sequence[Size], axes: Sequence[int], left: Sequence[Size]) -> list[int]:
    """Of sizes that vary, those that are 1 on this side of a branch, and so are not left."""
    gone: list[int] = []
    for axis, size in enumerate(sizes):
        kept = axis - len(gone)
        stays = kept < len(left) and same(left[kept], size)
        if axis in axes and len(left) + len(gone) < len(sizes) and not stays:
            gone.append(axis)
    return gone


@lowering(aten.atleast_1d.default)
def atleast_1d(op: Emitter, x: ir.Value) -> ir.Value:
    return x if op.rank(x) else op.reshape(x, (1,))


@lowering(aten.atleast_2d.default)
def atleast_2d(op: Emitter, x: ir.Value) -> ir.Value:
    return op.reshape(x, ((1,) * (2 - op.rank(x)) + op.shape(x)))


@lowering(aten.atleast_3d.default)
def atleast_3d(op: Emitter, x: ir.Value) -> ir.Value:
    sizes = op.shape(x)
    if len(sizes) == 2:
        return op.unsqueeze(x, 2)
    return op.reshape(x, (1, *sizes, 1)) if len(sizes) == 1 else op.reshape(x, sizes or (1, 1, 1))


@lowering(aten.atleast_1d.Sequence)
def atleast_1d_all(op: Emitter, tensors: Sequence[ir.Value]) -> Any:
    return tuple(atleast_1d(op, x) for x in tensors)


@lowering(aten.atleast_2d.Sequence)
def atleast_2d_all(op: Emitter, tensors: Sequence[ir.Value]) -> Any:
    return tuple(atleast_2d(op, x) for x in tensors)


@lowering(aten.atleast_3d.Sequence)
def atleast_3d_all(op: Emitter, tensors: Sequence[ir.Value]) -> Any:
    return tuple(atleast_3d(op, x) for x in tensors)


# ---- broadcasting --------------------------------------------------------------------------


def spread(op: Emitter, x: ir.Value, sizes: Sequence[Size]) -> ir.Value:
    """`x` broadcast to `sizes`, whatever its dtype."""
    return carried(op, "Expand", lambda value: op.expand(value, sizes), x)


@lowering(aten.expand.default, aten.expand_copy.default, aten.broadcast_to.default)
def expand(op: Emitter, x: ir.Value, size: Sequence[Size], *, implicit: bool = False) -> ir.Value:
    own = op.shape(x)
    own = (1,) * (len(size) - len(own)) + own
    wanted = [
        mine if is_minus_one(given) else given
        for mine, given in zip(own, map(concrete, size), strict=True)
    ]
    return spread(op, x, wanted)


@lowering(aten.expand_as.default)
def expand_as(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    return spread(op, x, op.shape(other))


@lowering(aten.broadcast_tensors.default)
def broadcast_tensors(op: Emitter, tensors: Sequence[ir.Value]) -> Any:
    wanted = broadcast(*(op.shape(x) for x in tensors))
    return tuple(spread(op, x, wanted) for x in tensors)
