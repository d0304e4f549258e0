"""Orders and duplicates: sort, topk, unique, searchsorted."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import carrier
from onnxpert.lower.aten.reshaping import axis_of
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, same

aten = torch.ops.aten


def best(
    op: Emitter, x: ir.Value, count: Size, axis: int, largest: bool
) -> tuple[ir.Value, ir.Value]:
    """The `count` first ones in order, and where they were; equals keep their order."""
    own = op.dtype(x)
    wide = op.cast(x, carrier("TopK", own))
    values, indices = op.emit(
        "TopK", wide, op.ints([count]), axis=axis, largest=int(largest), sorted=1, _outputs=2
    )
    sizes = op.shape(x)
    wanted = (*sizes[:axis], count, *sizes[axis + 1 :])
    op.describe(indices, wanted, torch.int64)
    return op.cast(op.describe(values, wanted), own), indices


def ordered(op: Emitter, x: ir.Value, dim: int, descending: bool) -> tuple[ir.Value, ir.Value]:
    if not op.rank(x):
        return x, op.const(0, torch.int64)
    axis = axis_of(op, x, dim)
    return best(op, x, op.shape(x)[axis], axis, descending)


@lowering(aten.sort.default)
def sort(op: Emitter, x: ir.Value, dim: int = -1, descending: bool = False) -> Any:
    return ordered(op, x, dim, descending)


@lowering(aten.sort.stable)
def sort_stable(
    op: Emitter, x: ir.Value, *, stable: bool | None, dim: int = -1, descending: bool = False
) -> Any:
    return ordered(op, x, dim, descending)


@lowering(aten.argsort.default)
def argsort(op: Emitter, x: ir.Value, dim: int = -1, descending: bool = False) -> ir.Value:
    return ordered(op, x, dim, descending)[1]


@lowering(aten.argsort.stable)
def argsort_stable(
    op: Emitter, x: ir.Value, *, stable: bool, dim: int = -1, descending: bool = False
) -> ir.Value:
    return ordered(op, x, dim, descending)[1]


@lowering(aten.msort.default)
def msort(op: Emitter, x: ir.Value) -> ir.Value:
    return ordered(op, x, 0, False)[0]


@lowering(aten.topk.default)
def topk(
    op: Emitter, x: ir.Value, k: Size, dim: int = -1, largest: bool = True, sorted: bool = True
) -> Any:
    if not op.rank(x):
        return x, op.const(0, torch.int64)
    # Unsorted means any order; the sorted one is as good as another.
    return best(op, x, k, axis_of(op, x, dim), largest)


# ---- duplicates ----------------------------------------------------------------------------


def _distinct(op: Emitter, x: ir.Value, axis: int | None) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The distinct elements (or slices) in order, which of them each was, how often it was there."""
    own = op.dtype(x)
    wide = op.cast(x, carrier("Unique", own))
    values, _, inverse, counts = op.emit("Unique", wide, axis=axis, sorted=1, _outputs=4)
    return op.cast(values, own), inverse, counts


def _nothing(op: Emitter) -> ir.Value:
    return op.const(torch.empty(0, dtype=torch.int64))


@lowering(aten._unique2.default)
def unique2(
    op: Emitter,
    x: ir.Value,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    sizes = op.shape(x)
    values, inverse, counts = _distinct(op, op.reshape(x, (product(sizes),)), None)
    shaped = op.reshape(op.describe(inverse, (product(sizes),)), sizes)
    return (
        values,
        shaped if return_inverse else _nothing(op),
        counts if return_counts else _nothing(op),
    )


@lowering(aten._unique.default)
def unique(op: Emitter, x: ir.Value, sorted: bool = True, return_inverse: bool = False) -> Any:
    return unique2(op, x, sorted, return_inverse)[:2]


@lowering(aten.unique_dim.default)
def unique_dim(
    op: Emitter,
    x: ir.Value,
    dim: int,
    sorted: bool = True,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    return _distinct(op, x, axis_of(op, x, dim))


@lowering(aten.unique_consecutive.default)
def unique_consecutive(
    op: Emitter,
    x: ir.Value,
    return_inverse: bool = False,
    return_counts: bool = False,
    dim: int | None = None,
) -> Any:
    sizes = op.shape(x)
    total = product(sizes)
    data = op.reshape(x, (total,)) if dim is None else x
    values, inverse, counts = _runs(op, data, 0 if dim is None else axis_of(op, x, dim))
    if dim is None:
        inverse = op.reshape(op.describe(inverse, (total,)), sizes)
    return (
        values,
        inverse if return_inverse else _nothing(op),
        counts if return_counts else _nothing(op),
    )


@lowering(aten.unique_dim_consecutive.default)
def unique_dim_consecutive(
    op: Emitter,
    x: ir.Value,
    dim: int,
    return_inverse: bool = False,
    return_counts: bool = False,
) -> Any:
    return _runs(op, x, axis_of(op, x, dim))


def _runs(op: Emitter, x: ir.Value, axis: int) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The same of neighbours only: a run starts where an element differs from the one before."""
    size, rank = op.shape(x)[axis], op.rank(x)
    if same(size, 0):
        return x, _nothing(op), _nothing(op)
    before = op.Slice(x, [0], [-1], [axis])
    after = op.Slice(x, [1], [2**63 - 1], [axis])
    differs = op.cast(op.Not(op.Equal(after, before)), torch.int32)
    others = [i for i in range(rank) if i != axis]
    if others:
        op.describe(differs, [s - 1 if i == axis else s for i, s in enumerate(op.shape(x))])
        differs = op.reduce("ReduceMax", differs, others, False)
    one = op.const([True], torch.bool)
    first = op.Slice(one, op.ints([0]), op.ints([size]), op.ints([0]))  # an empty tensor has no run
    starts = op.Concat(first, op.cast(differs, torch.bool), axis=0)
    inverse = op.Sub(op.CumSum(op.cast(starts, torch.int64), op.const(0, torch.int64)), 1)
    at = op.squeeze(op.NonZero(starts), 0)
    ends = op.Concat(
        op.Slice(at, [1], [2**63 - 1], [0]),
        op.Slice(op.ints([size]), op.ints([0]), op.ints([size]), op.ints([0])),
        axis=0,
    )
    return op.Compress(x, starts, axis=axis), inverse, op.Sub(ends, at)


# ---- places in an order --------------------------------------------------------------------


def _place(
    op: Emitter, edges: ir.Value, values: ir.Value, right: bool, out_int32: bool
) -> ir.Value:
    """How many of the edges (along their last dimension) lie before each value."""
    dtype = carrier("Greater", op.result_type(edges, values))
    a, b = op.cast(edges, dtype), op.unsqueeze(op.cast(values, dtype), op.rank(values))
    if op.rank(edges) > 1:
        a = op.unsqueeze(a, op.rank(edges) - 1)
    # Asked as torch asks, so that NaN comes last.
    before = op.Not(op.Greater(a, b) if right else op.GreaterOrEqual(a, b))
    out = torch.int32 if out_int32 else torch.int64
    return op.reduce("ReduceSum", op.cast(before, out), [-1], False)


@lowering(aten.searchsorted.Tensor, aten.searchsorted.Scalar)
def searchsorted(
    op: Emitter,
    sorted_sequence: ir.Value,
    value: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: ir.Value | None = None,
) -> ir.Value:
    edges = sorted_sequence
    values = value if isinstance(value, ir.Value) else op.scalar(value, op.dtype(edges))
    right = right or side == "right"
    if sorter is None:
        return _place(op, edges, values, right, out_int32)
    edges = op.GatherElements(edges, sorter, axis=op.rank(edges) - 1)
    size = op.shape(edges)[-1]
    if not isinstance(size, int):
        return _place(op, edges, values, right, out_int32)
    # A sorter may not sort: then the answer is what a search by halves happens upon.
    return _halved(op, edges, values, size, right, out_int32)


def _halved(
    op: Emitter, edges: ir.Value, values: ir.Value, size: int, right: bool, out_int32: bool
) -> ir.Value:
    dtype = carrier("Greater", op.result_type(edges, values))
    a, b = op.cast(edges, dtype), op.cast(values, dtype)
    low = op.expand(op.const(0, torch.int64), op.shape(values))
    high = op.expand(op.const(size, torch.int64), op.shape(values))
    for _ in range(size.bit_length()):
        middle = op.Div(op.Add(low, high), 2)
        place = op.Min(middle, size - 1)
        edge = (
            op.Gather(a, place, axis=0)
            if op.rank(a) == 1
            else op.GatherElements(a, place, axis=op.rank(a) - 1)
        )
        before = op.Not(op.Greater(edge, b) if right else op.GreaterOrEqual(edge, b))
        open_ = op.Less(low, high)
        low, high = (
            op.Where(op.And(open_, before), op.Add(middle, 1), low),
            op.Where(op.And(open_, op.Not(before)), middle, high),
        )
    return op.cast(low, torch.int32 if out_int32 else torch.int64)


@lowering(aten.bucketize.Tensor, aten.bucketize.Scalar)
def bucketize(
    op: Emitter, x: Any, boundaries: ir.Value, *, out_int32: bool = False, right: bool = False
) -> ir.Value:
    values = x if isinstance(x, ir.Value) else op.scalar(x)
    return _place(op, boundaries, values, right, out_int32)
