"""Sampling at the points of a grid, and the grids of affine maps."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.cubic_grids import cubic_in_space
from onnxpert.lower.aten.linear import matmul, swapped
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten

_OLD_MODES = ("bilinear", "nearest", "bicubic")
_MODES = ("linear", "nearest", "cubic")
_PADDINGS = ("zeros", "border", "reflection")


def _sampled(
    op: Emitter, input: ir.Value, grid: ir.Value, mode: str, padding_mode: int, align_corners: bool
) -> ir.Value:
    result = op.GridSample(
        input,
        grid,
        mode=mode,
        padding_mode=_PADDINGS[padding_mode],
        align_corners=int(align_corners),
    )
    return op.describe(result, (*op.shape(input)[:2], *op.shape(grid)[1:-1]))


@lowering(
    aten.grid_sampler.default,
    aten.grid_sampler_2d.default,
    aten.grid_sampler_3d.default,
    aten._grid_sampler_2d_cpu_fallback.default,
    since=20,
)
def grid_sampler(
    op: Emitter,
    input: ir.Value,
    grid: ir.Value,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> ir.Value:
    if op.rank(input) == 5 and _MODES[interpolation_mode] == "cubic":
        return cubic_in_space(op, input, grid, padding_mode, align_corners)
    return _sampled(op, input, grid, _MODES[interpolation_mode], padding_mode, align_corners)


@lowering(
    aten.grid_sampler.default,
    aten.grid_sampler_2d.default,
    aten._grid_sampler_2d_cpu_fallback.default,
    since=16,
)
def grid_sampler_2d(
    op: Emitter,
    input: ir.Value,
    grid: ir.Value,
    interpolation_mode: int,
    padding_mode: int,
    align_corners: bool,
) -> ir.Value:
    if op.rank(input) != 4 or op.dtype(input) is torch.float64:
        raise Refusal("a grid in three dimensions, or in float64, needs opset 20", 20)
    return _sampled(op, input, grid, _OLD_MODES[interpolation_mode], padding_mode, align_corners)


@lowering(aten.affine_grid_generator.default, since=20)
def affine_grid_whole(
    op: Emitter, theta: ir.Value, size: Sequence[Size], align_corners: bool
) -> ir.Value:
    grid = op.AffineGrid(theta, op.ints(size), align_corners=int(align_corners))
    return op.describe(grid, (size[0], *size[2:], len(size) - 2))


@lowering(aten.affine_grid_generator.default)
def affine_grid(
    op: Emitter, theta: ir.Value, size: Sequence[Size], align_corners: bool
) -> ir.Value:
    dtype, space = op.dtype(theta), [concrete(one) for one in size[2:]]
    points = []
    for axis in reversed(range(len(space))):  # x comes first, and runs along the last axis
        line = _line(op, space[axis], align_corners, dtype)
        shape = [1] * len(space)
        shape[axis] = space[axis]
        points.append(op.expand(op.reshape(line, shape), space))
    points.append(op.expand(op.const(1.0, dtype), space))
    base = op.Concat(*(op.unsqueeze(point, -1) for point in points), axis=-1)
    flat = op.reshape(op.describe(base, (*space, len(space) + 1)), (product(space), len(space) + 1))
    return op.reshape(matmul(op, flat, swapped(op, theta)), (size[0], *space, len(space)))


def _line(op: Emitter, count: Size, align_corners: bool, dtype: torch.dtype) -> ir.Value:
    """From -1 to 1: through the corners, or through the middles of the outermost cells."""
    one = op.const(1, torch.int64)
    place = op.Range(op.const(0, torch.int64), op.scalar(count, torch.int64), one)
    spot = op.cast(op.describe(place, (count,)), dtype)
    if not align_corners:
        middle = op.Add(op.Mul(spot, 2.0), op.Sub(1.0, op.scalar(count, dtype)))
        return op.Div(middle, op.scalar(count, dtype))
    # A single point lies in the middle.
    last = op.scalar(count - 1, dtype)
    return op.Div(op.Sub(op.Mul(spot, 2.0), last), op.Max(last, op.const(1.0, dtype)))
