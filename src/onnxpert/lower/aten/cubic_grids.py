"""Cubic sampling at the points of a grid in space, for which ONNX Runtime has no kernel."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size

_TAPS = 4
_A = -0.75  # of the cubic convolution
_ZEROS, _BORDER, _REFLECTION = range(3)


def cubic_in_space(
    op: Emitter, input: ir.Value, grid: ir.Value, padding_mode: int, align_corners: bool
) -> ir.Value:
    """Every point is a weighted sum of the 4 x 4 x 4 elements around it."""
    batch, channels, *sizes = op.shape(input)
    points = product(op.shape(grid)[1:-1])
    flat = op.reshape(grid, (batch, points, len(sizes)))
    dtype = op.dtype(input)
    place: ir.Value | None = None
    weight: ir.Value | None = None
    for axis, size in enumerate(sizes):
        column = op.const(len(sizes) - 1 - axis, torch.int64)  # x comes first, along the last axis
        spot = _unnormalised(op, op.Gather(flat, column, axis=2), size, align_corners)
        whole = op.Floor(spot)
        own = _weights(op, op.Sub(spot, whole))
        taps = op.Add(op.unsqueeze(whole, 2), op.const(torch.arange(-1, 3).to(dtype)))
        taps, own = _padded(op, taps, own, size, padding_mode, align_corners)
        shape = [batch, points, *[_TAPS if at == axis else 1 for at in range(len(sizes))]]
        taps, own = op.reshape(taps, shape), op.reshape(own, shape)
        place = taps if place is None else op.Add(op.Mul(place, op.scalar(size)), taps)
        weight = own if weight is None else op.Mul(weight, own)
    assert place is not None
    assert weight is not None
    around = _TAPS ** len(sizes)
    data = op.reshape(input, (batch, channels, product(sizes)))
    index = op.expand(
        op.reshape(place, (batch, 1, points * around)), (batch, channels, points * around)
    )
    values = op.reshape(op.GatherElements(data, index, axis=2), (batch, channels, points, around))
    weighed = op.Mul(values, op.reshape(weight, (batch, 1, points, around)))
    result = op.reduce("ReduceSum", weighed, [3], False)
    return op.reshape(result, (batch, channels, *op.shape(grid)[1:-1]))


def _unnormalised(op: Emitter, x: ir.Value, size: Size, align_corners: bool) -> ir.Value:
    length = op.scalar(size, op.dtype(x))
    if align_corners:
        return op.Mul(op.Div(op.Add(x, 1.0), 2.0), op.Sub(length, 1.0))
    return op.Div(op.Sub(op.Mul(op.Add(x, 1.0), length), 1.0), 2.0)


def _weights(op: Emitter, t: ir.Value) -> ir.Value:
    """Of the elements at -1, 0, 1 and 2."""

    def near(x: ir.Value) -> ir.Value:
        inner = op.Sub(op.Mul(x, _A + 2), _A + 3)
        return op.Add(op.Mul(op.Mul(inner, x), x), 1.0)

    def far(x: ir.Value) -> ir.Value:
        inner = op.Add(op.Mul(op.Sub(op.Mul(x, _A), 5 * _A), x), 8 * _A)
        return op.Sub(op.Mul(inner, x), 4 * _A)

    back = op.Sub(1.0, t)
    each = [far(op.Add(t, 1.0)), near(t), near(back), far(op.Add(back, 1.0))]
    return op.Concat(*(op.unsqueeze(one, 2) for one in each), axis=2)


def _padded(
    op: Emitter, taps: ir.Value, weights: ir.Value, size: Size, mode: int, align_corners: bool
) -> tuple[ir.Value, ir.Value]:
    """Places inside of the data, and weights of nothing for those that are not."""
    dtype = op.dtype(taps)
    last = op.scalar(size - 1, dtype)
    if mode == _REFLECTION:
        taps = _reflected(op, taps, size, align_corners)
    clipped = op.Max(op.Min(taps, last), op.scalar(0.0, dtype))
    if mode == _ZEROS:
        weights = op.Where(op.Equal(clipped, taps), weights, op.scalar(0.0, dtype))
    return op.cast(clipped, torch.int64), weights


def _reflected(op: Emitter, x: ir.Value, size: Size, align_corners: bool) -> ir.Value:
    """Back and forth between the first and the last element, or between their outer edges."""
    dtype = op.dtype(x)
    low = 0.0 if align_corners else -0.5
    span = op.scalar(size - 1 if align_corners else size, dtype)
    whole = op.Max(span, 1.0) if align_corners else span  # a single element is its own mirror
    way = op.Abs(op.Sub(x, low))
    turns = op.Floor(op.Div(way, whole))
    rest = op.Sub(way, op.Mul(turns, whole))
    odd = op.Equal(op.Sub(turns, op.Mul(op.Floor(op.Div(turns, 2.0)), 2.0)), 1.0)
    return op.Add(op.Where(odd, op.Sub(whole, rest), rest), low)
