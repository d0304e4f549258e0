"""Pooling to a given size: windows of torch's choosing, some longer than others."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import most
from onnxpert.lower.aten.windows import batched, held_apart, per_axis
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, may_be_zero, same

aten = torch.ops.aten


def _regular(sizes: Sequence[Size], wanted: Sequence[Size]) -> tuple[list[int], list[int]] | None:
    """Kernel and stride, where all windows of an axis are alike and evenly spaced."""
    kernels, strides = [], []
    for size, want in zip(sizes, wanted, strict=True):
        if not isinstance(size, int) or not isinstance(want, int) or want == 0 or size == 0:
            return None
        starts = [place * size // want for place in range(want)]
        lengths = {-(-(place + 1) * size // want) - starts[place] for place in range(want)}
        steps = {b - a for a, b in itertools.pairwise(starts)} or {size}
        if len(lengths) > 1 or len(steps) > 1 or 0 in steps:  # one element for several windows
            return None
        kernels.append(lengths.pop())
        strides.append(steps.pop())
    return kernels, strides


class _Windows:
    """Along one axis: which elements each window reads, and how many of them are its own."""

    def __init__(self, op: Emitter, size: Size, want: Size) -> None:
        place = _range(op, want)
        count = most(want, 1) if may_be_zero(want) else want  # of none there is nothing to divide
        start = op.Div(op.Mul(place, op.scalar(size, torch.int64)), op.scalar(count, torch.int64))
        after = op.Mul(op.Add(place, 1), op.scalar(size, torch.int64))
        # The end is rounded up: -(-a // b) in integers that only know truncation.
        end = op.Div(
            op.Add(after, op.scalar(count - 1, torch.int64)), op.scalar(count, torch.int64)
        )
        self.longest = (size + count - 1) // count + 1
        offset = _range(op, self.longest)
        spot = op.Add(op.unsqueeze(start, 1), offset)
        self.inside = op.Less(spot, op.unsqueeze(end, 1))
        # A window that is shorter than the longest reads its last element again.
        self.places = op.Min(spot, op.unsqueeze(op.Sub(end, 1), 1))
        op.describe(self.places, (want, self.longest))
        op.describe(self.inside, (want, self.longest))
        self.length = op.Sub(end, start)


def _range(op: Emitter, count: Size) -> ir.Value:
    stop = op.scalar(count, torch.int64)
    return op.describe(
        op.Range(op.scalar(0, torch.int64), stop, op.scalar(1, torch.int64)), (count,)
    )


def _mean_along(op: Emitter, x: ir.Value, axis: int, want: Size) -> ir.Value:
    sizes = op.shape(x)
    windows = _Windows(op, sizes[axis], want)
    gathered = op.Gather(x, windows.places, axis=axis)
    trailing = (1,) * (len(sizes) - axis - 1)
    inside = op.reshape(windows.inside, (want, windows.longest, *trailing))
    total = op.reduce("ReduceSum", op.Where(inside, gathered, 0.0), [axis + 1], False)
    length = op.reshape(op.cast(windows.length, op.dtype(x)), (want, *trailing))
    return op.Div(total, length)


def _avg_pool(op: Emitter, x: ir.Value, axes: int, output_size: Any) -> ir.Value:
    wanted = per_axis(output_size, axes)
    sizes = op.shape(x)[-axes:]
    spatial = list(range(op.rank(x) - axes, op.rank(x)))
    if all(isinstance(want, int) and want == 1 for want in wanted):
        if op.dtype(x) is torch.float32 and op.rank(x) == axes + 2:
            return op.describe(op.GlobalAveragePool(x), (*op.shape(x)[:-axes], *wanted))
        return op.reduce("ReduceMean", x, spatial, True)
    regular = _regular(sizes, wanted)
    if regular is not None and op.dtype(x) in {torch.float32, torch.float16}:
        kernel, stride = regular
        if all(size == 1 for size in kernel):
            return x
        pooled = batched(
            op, x, axes + 2, lambda g: op.AveragePool(g, kernel_shape=kernel, strides=stride)
        )
        return op.describe(pooled, (*op.shape(x)[:-axes], *wanted))
    for axis, want in zip(spatial, wanted, strict=True):
        if not same(op.shape(x)[axis], want):
            x = _mean_along(op, x, axis, want)
    return x


def _avg_lowering(axes: int, *overloads: Any) -> Any:
    @lowering(*overloads)
    def adaptive_avg_pool(op: Emitter, self: ir.Value, output_size: Any) -> ir.Value:
        return _avg_pool(op, self, axes, output_size)

    return adaptive_avg_pool


adaptive_avg_pool1d = _avg_lowering(1, aten.adaptive_avg_pool1d.default)
adaptive_avg_pool2d = _avg_lowering(
    2, aten.adaptive_avg_pool2d.default, aten._adaptive_avg_pool2d.default
)
adaptive_avg_pool3d = _avg_lowering(
    3, aten.adaptive_avg_pool3d.default, aten._adaptive_avg_pool3d.default
)


def _max_pool(op: Emitter, x: ir.Value, axes: int, output_size: Any) -> tuple[ir.Value, ir.Value]:
    wanted = per_axis(output_size, axes)
    outer, sizes = op.shape(x)[:-axes], op.shape(x)[-axes:]
    regular = _regular(sizes, wanted)
    if regular is not None:
        form: dict[str, Any] = {"kernel_shape": regular[0], "strides": regular[1]}
        shape = (*outer, *wanted)
        x = held_apart(op, x)
        values = batched(op, x, axes + 2, lambda given: op.MaxPool(given, **form))
        places = batched(op, x, axes + 2, lambda given: op.MaxPool(given, **form, _outputs=2)[1])
        # ONNX counts through the whole tensor, torch anew in every channel.
        places = op.Mod(places, op.scalar(product(sizes), torch.int64))
        return op.describe(values, shape), op.describe(places, shape)
    return _max_gathered(op, x, axes, wanted)


def _max_gathered(
    op: Emitter, x: ir.Value, axes: int, wanted: Sequence[Size]
) -> tuple[ir.Value, ir.Value]:
    """Every window written out, its axes behind: the largest of it and where that was."""
    outer, sizes = op.shape(x)[:-axes], op.shape(x)[-axes:]
    free = len(outer)
    grid, longest = x, []
    spots: ir.Value | None = None
    for index, (size, want) in enumerate(zip(sizes, wanted, strict=True)):
        windows = _Windows(op, size, want)
        grid = op.Gather(grid, windows.places, axis=free + 2 * index)
        longest.append(windows.longest)
        # The place in the plane, axis by axis: spots * size + place.
        shape = [1] * (2 * axes)
        shape[2 * index], shape[2 * index + 1] = want, windows.longest
        own = op.reshape(windows.places, shape)
        spots = own if spots is None else op.Add(op.Mul(spots, op.scalar(size, torch.int64)), own)
    assert spots is not None
    order = [*range(0, 2 * axes, 2), *range(1, 2 * axes, 2)]
    grid = op.Transpose(grid, perm=[*range(free), *(free + axis for axis in order)])
    spots = op.Transpose(spots, perm=order)
    grid = op.reshape(grid, (*outer, *wanted, product(longest)))
    spots = op.reshape(spots, (*wanted, product(longest)))
    values = op.reduce("ReduceMax", grid, [-1], False)
    best = op.ArgMax(grid, axis=-1, keepdims=1)
    spread = op.expand(spots, op.shape(grid))
    return values, op.squeeze(op.GatherElements(spread, best, axis=-1), -1)


def _max_lowering(axes: int, overload: Any) -> Any:
    @lowering(overload)
    def adaptive_max_pool(op: Emitter, self: ir.Value, output_size: Any) -> Any:
        return _max_pool(op, self, axes, output_size)

    return adaptive_max_pool


adaptive_max_pool1d = _max_lowering(1, aten.adaptive_max_pool1d.default)
adaptive_max_pool2d = _max_lowering(2, aten.adaptive_max_pool2d.default)
adaptive_max_pool3d = _max_lowering(3, aten.adaptive_max_pool3d.default)
