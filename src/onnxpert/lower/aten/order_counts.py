"""How often: the commonest element, numbers of whole numbers, histograms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.carriers import carrier
from onnxpert.lower.aten.counting import count
from onnxpert.lower.aten.extremum import amax, amin
from onnxpert.lower.aten.reshaping import axis_of
from onnxpert.lower.dtypes import Scalar
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, same

aten = torch.ops.aten


@lowering(aten.mode.default)
def mode(op: Emitter, self: ir.Value, dim: int = -1, keepdim: bool = False) -> Any:
    """The smallest of the elements that are there most often, and the last place it is at."""
    if not op.rank(self):
        return self, op.const(0, torch.int64)
    own, axis = op.dtype(self), axis_of(op, self, dim)
    wide = op.cast(self, carrier("TopK", own))
    size = op.shape(self)[axis]
    ranks = op.rank(self)
    # Every element beside every other one, along a dimension of its own.
    alike = op.Equal(op.unsqueeze(wide, axis + 1), op.unsqueeze(wide, axis))
    often = op.reduce("ReduceSum", op.cast(alike, torch.int64), [axis + 1], False)
    most = op.reduce("ReduceMax", often, [axis], True)
    # TopK puts equals in the order they stand in; ascending values, the commonest picked first.
    values, order = op.emit(
        "TopK", wide, op.ints([size]), axis=axis, largest=0, sorted=1, _outputs=2
    )
    op.describe(values, op.shape(self))
    op.describe(order, op.shape(self), torch.int64)
    common = op.Equal(op.GatherElements(often, order, axis=axis), most)
    first = op.ArgMax(op.cast(common, torch.int32), axis=axis, keepdims=1)
    value = op.GatherElements(values, first, axis=axis)
    places = op.reshape(count(op, size), [size if i == axis else 1 for i in range(ranks)])
    at = op.Where(op.Equal(wide, value), places, op.const(-1, torch.int64))
    place = op.reduce("ReduceMax", at, [axis], True)
    results = (op.cast(value, own), place)
    return results if keepdim else tuple(op.squeeze(each, axis) for each in results)


# ---- sums at places --------------------------------------------------------------------------


def _summed(op: Emitter, places: ir.Value, weights: ir.Value, size: ir.Value) -> ir.Value:
    """So many sums, one for each place, of the weights that belong there; all 1-d."""
    zeros = op.Expand(op.scalar(0, op.dtype(weights)), size)
    return op.ScatterElements(zeros, places, weights, axis=0, reduction="add")


@lowering(aten.bincount.default, since=16)
def bincount(
    op: Emitter, self: ir.Value, weights: ir.Value | None = None, minlength: Size = 0
) -> ir.Value:
    number = op.shape(self)[0]
    places = op.cast(self, torch.int64)
    if weights is None:
        added = op.expand(op.const(1, torch.int64), (number,))
    else:
        kept = op.dtype(weights) in (torch.float32, torch.float64)
        added = weights if kept else op.cast(weights, torch.float64)
    # Of nothing the largest is -1.
    largest = op.reduce(
        "ReduceMax", op.Concat(places, op.const([-1], torch.int64), axis=0), [0], True
    )
    size = op.Max(op.Add(largest, 1), op.ints([minlength]))
    sums = _summed(op, places, added, size)
    return op.describe(sums, op.out.shape) if op.out is not None else sums


# ---- histograms ------------------------------------------------------------------------------


def _edges(op: Emitter, column: ir.Value, bins: int, limits: Sequence[float] | None) -> ir.Value:
    """The bounds of bins of equal width over a range: the one given, or that of the values."""
    dtype = op.dtype(column)
    if limits is None and same(op.shape(column)[0], 0):
        limits = (0.0, 1.0)
    if limits is not None:
        low, high = (float(limit) for limit in limits)
        if low == high:
            low, high = low - 0.5, high + 0.5
        return op.const(torch.linspace(low, high, bins + 1, dtype=dtype))
    low, high = amin(op, column, [0]), amax(op, column, [0])
    one = op.Equal(low, high)
    half = op.Where(one, op.const(0.5, dtype), op.const(0.0, dtype))
    return _spread(op, op.Sub(low, half), op.Add(high, half), bins)


def _spread(op: Emitter, low: ir.Value, high: ir.Value, bins: int) -> ir.Value:
    """linspace between two values, from both ends to the middle as torch does it."""
    dtype = op.dtype(low)
    step = op.Div(op.Sub(high, low), op.const(float(bins), dtype))
    half = (bins + 1) // 2
    up = op.const(torch.arange(bins + 1).to(dtype))
    down = op.const(torch.arange(bins, -1, -1).to(dtype))
    first = op.const(torch.arange(bins + 1) < half)
    return op.Where(first, op.Add(low, op.Mul(up, step)), op.Sub(high, op.Mul(down, step)))


def _bin_of(op: Emitter, column: ir.Value, edges: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Which bin each value is in, and whether it is in one; the last one has its upper bound."""
    bins = op.shape(edges)[0] - 1
    reached = op.GreaterOrEqual(op.unsqueeze(column, 1), edges)
    place = op.Sub(op.reduce("ReduceSum", op.cast(reached, torch.int64), [1], False), 1)
    last = op.Gather(edges, op.scalar(bins, torch.int64), axis=0)
    inside = op.And(op.GreaterOrEqual(place, 0), op.LessOrEqual(column, last))
    top = op.scalar(bins - 1, torch.int64)
    return op.Max(op.Min(place, top), 0), inside


def _histogram(
    op: Emitter,
    columns: Sequence[ir.Value],
    edges: Sequence[ir.Value],
    weight: ir.Value | None,
    density: bool,
) -> ir.Value:
    dtype = op.dtype(columns[0])
    if dtype not in (torch.float32, torch.float64):
        raise Refusal("histograms are of float32 and float64 only")
    number = op.shape(columns[0])[0]
    one, zero = op.const(1.0, dtype), op.const(0.0, dtype)
    sizes = [op.shape(each)[0] - 1 for each in edges]
    place: ir.Value = op.expand(op.const(0, torch.int64), (number,))
    weights = op.expand(one, (number,)) if weight is None else op.reshape(weight, (number,))
    for column, bounds, size in zip(columns, edges, sizes, strict=True):
        index, inside = _bin_of(op, column, bounds)
        place = op.Add(op.Mul(place, op.scalar(size, torch.int64)), index)
        weights = op.Where(inside, weights, zero)
    total = product(sizes)
    sums = op.describe(_summed(op, place, weights, op.ints([total])), (total,))
    result = op.reshape(sums, sizes)
    return _per_width(op, result, edges) if density else result


def _per_width(op: Emitter, sums: ir.Value, edges: Sequence[ir.Value]) -> ir.Value:
    """The share of the whole in each bin, by the bin's size."""
    rank = op.rank(sums)
    result = op.Div(sums, op.reduce("ReduceSum", sums, [], False))
    for axis, bounds in enumerate(edges):
        size = op.shape(bounds)[0]
        upper = op.Slice(bounds, op.ints([1]), op.ints([size]), op.ints([0]))
        lower = op.Slice(bounds, op.ints([0]), op.ints([size - 1]), op.ints([0]))
        width = op.Sub(op.describe(upper, (size - 1,)), op.describe(lower, (size - 1,)))
        shape = [size - 1 if each == axis else 1 for each in range(rank)]
        result = op.Div(result, op.reshape(width, shape))
    return op.describe(result, op.shape(sums))


def _flat(op: Emitter, x: ir.Value) -> ir.Value:
    return op.reshape(x, (product(op.shape(x)),))


def _columns(op: Emitter, x: ir.Value) -> list[ir.Value]:
    *leading, width = op.shape(x)
    if not isinstance(width, int):
        raise Refusal("a histogram over a number of dimensions that is not fixed")
    rows = op.reshape(x, (product(leading), width))
    return [op.Gather(rows, op.const(index, torch.int64), axis=1) for index in range(width)]


def _limits(given: Sequence[Scalar] | None, axis: int) -> Sequence[float] | None:
    return None if given is None else (given[2 * axis], given[2 * axis + 1])


@lowering(aten.histc.default, since=16)
def histc(
    op: Emitter, self: ir.Value, bins: int = 100, min: Scalar = 0, max: Scalar = 0
) -> ir.Value:
    """Bins by a quotient, not by bounds; between equal limits, over the range of the values."""
    dtype = op.dtype(self)
    if dtype not in (torch.float32, torch.float64):
        raise Refusal("histograms are of float32 and float64 only")
    values = _flat(op, self)
    number = op.shape(values)[0]
    if same(number, 0):
        return op.const(torch.zeros(bins, dtype=dtype))
    low, high = op.const(float(min), dtype), op.const(float(max), dtype)
    if min == max:
        low, high = amin(op, values, [0]), amax(op, values, [0])
        room = op.cast(op.Equal(low, high), dtype)
        low, high = op.Sub(low, room), op.Add(high, room)
    inside = op.And(op.GreaterOrEqual(values, low), op.LessOrEqual(values, high))
    share = op.Mul(op.Sub(values, low), op.const(float(bins), dtype))
    share = op.Where(inside, op.Div(share, op.Sub(high, low)), op.const(0.0, dtype))
    place = op.Min(op.cast(share, torch.int64), op.scalar(bins - 1, torch.int64))
    sums = _summed(op, place, op.cast(inside, dtype), op.ints([bins]))
    return op.describe(sums, (bins,))


@lowering(aten.histogram.bin_ct, since=16)
def histogram(
    op: Emitter,
    self: ir.Value,
    bins: int = 100,
    range: Sequence[Scalar] | None = None,
    weight: ir.Value | None = None,
    density: bool = False,
) -> Any:
    values = _flat(op, self)
    edges = _edges(op, values, bins, range)
    return _histogram(op, [values], [edges], weight, density), edges


@lowering(aten.histogram.bins_tensor, since=16)
def histogram_between(
    op: Emitter,
    self: ir.Value,
    bins: ir.Value,
    weight: ir.Value | None = None,
    density: bool = False,
) -> Any:
    return _histogram(op, [_flat(op, self)], [bins], weight, density), bins


@lowering(aten._histogramdd_bin_edges.default)
def histogramdd_bin_edges(
    op: Emitter,
    self: ir.Value,
    bins: Sequence[int],
    range: Sequence[Scalar] | None = None,
    weight: ir.Value | None = None,
    density: bool = False,
) -> Any:
    columns = _columns(op, self)
    return [
        _edges(op, column, number, _limits(range, axis))
        for axis, (column, number) in enumerate(zip(columns, bins, strict=True))
    ]


@lowering(aten._histogramdd_from_bin_cts.default, since=16)
def histogramdd_from_bin_cts(
    op: Emitter,
    self: ir.Value,
    bins: Sequence[int],
    range: Sequence[Scalar] | None = None,
    weight: ir.Value | None = None,
    density: bool = False,
) -> Any:
    edges = histogramdd_bin_edges(op, self, bins, range)
    return _histogram(op, _columns(op, self), edges, weight, density)


@lowering(aten._histogramdd_from_bin_tensors.default, since=16)
def histogramdd_from_bin_tensors(
    op: Emitter,
    self: ir.Value,
    bins: Sequence[ir.Value],
    weight: ir.Value | None = None,
    density: bool = False,
) -> Any:
    return _histogram(op, _columns(op, self), bins, weight, density)
