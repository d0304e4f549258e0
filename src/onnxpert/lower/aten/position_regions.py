"""torchvision's pooling over regions in which each place has channels of its own."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.aten.vision import rounded
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size


def _single(op: Emitter, *values: ir.Value) -> None:
    if any(op.dtype(value) is not torch.float32 for value in values):
        raise Refusal("regions are pooled in float32 only")


def _batch(op: Emitter, rois: ir.Value) -> ir.Value:
    """Which image each region is of."""
    return op.cast(op.Gather(rois, op.const(0, torch.int64), axis=1), torch.int64)


def _mapping(op: Emitter, rois: ir.Value, channels: Size, height: int, width: int) -> ir.Value:
    """The channel that each element was taken from; asked for in training only."""
    sizes = (channels, height, width)
    places = op.reshape(op.cast(count(op, channels * height * width), torch.int32), (1, *sizes))
    return op.expand(places, (op.shape(rois)[0], *sizes))


@lowering("torchvision::ps_roi_align")
def ps_roi_align(
    op: Emitter,
    input: ir.Value,
    rois: ir.Value,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[Any, Any]:
    """Of all channels at all places, those whose place it is."""
    _single(op, input, rois)
    number, cells = op.shape(rois)[0], pooled_height * pooled_width
    channels = op.shape(input)[1] // cells
    aligned = op.RoiAlign(
        input,
        op.Slice(rois, [1], [5], [1]),
        _batch(op, rois),
        coordinate_transformation_mode="half_pixel",
        output_height=pooled_height,
        output_width=pooled_width,
        sampling_ratio=max(sampling_ratio, 0),
        spatial_scale=spatial_scale,
    )
    op.describe(aligned, (number, op.shape(input)[1], pooled_height, pooled_width))
    square = op.reshape(aligned, (number, channels, cells, cells))
    own = op.Mul(square, op.const(torch.eye(cells)))
    own = op.reduce("ReduceSum", own, [3], False)
    result = op.reshape(own, (number, channels, pooled_height, pooled_width))
    return result, _mapping(op, rois, channels, pooled_height, pooled_width)


@lowering("torchvision::ps_roi_pool")
def ps_roi_pool(
    op: Emitter,
    input: ir.Value,
    rois: ir.Value,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
) -> tuple[Any, Any]:
    """The mean of each bin, by two products with what it covers down and across."""
    _single(op, input, rois)
    _, all_channels, height, width = op.shape(input)
    number, channels = op.shape(rois)[0], all_channels // (pooled_height * pooled_width)
    sizes = (number, channels, pooled_height, pooled_width)
    images = op.reshape(op.Gather(input, _batch(op, rois), axis=0), (*sizes, height, width))
    down = _covered(op, rois, spatial_scale, (2, 4), pooled_height, height)
    across = _covered(op, rois, spatial_scale, (1, 3), pooled_width, width)
    rows = op.unsqueeze(down, 1, 3, 4)  # (rois, 1, bins, 1, 1, height)
    columns = op.unsqueeze(across, 1, 2, 5)  # (rois, 1, 1, bins, width, 1)
    total = op.reshape(op.MatMul(rows, op.MatMul(images, columns)), sizes)
    lengths = [op.reduce("ReduceSum", each, [2], False) for each in (down, across)]
    area = op.Mul(op.unsqueeze(lengths[0], 1, 3), op.unsqueeze(lengths[1], 1, 2))
    mean = op.Div(total, op.Max(area, 1.0))  # an empty bin has the sum zero
    return mean, _mapping(op, rois, channels, pooled_height, pooled_width)


def _covered(
    op: Emitter, rois: ir.Value, scale: float, ends: tuple[int, int], bins: int, size: Size
) -> ir.Value:
    """1 for each element that a bin covers along one axis: (rois, bins, elements)."""
    start, end = (
        rounded(op, op.Mul(op.Gather(rois, op.const([at], torch.int64), axis=1), scale))
        for at in ends
    )
    step = op.Div(op.Max(op.Sub(end, start), 1.0), float(bins))
    each = op.const(torch.arange(bins).to(torch.float32))
    low = op.Floor(op.Add(op.Mul(each, step), start))
    high = op.Ceil(op.Add(op.Mul(op.Add(each, 1.0), step), start))
    high = op.Min(high, op.scalar(size - 1, torch.float32))  # the last one is never read
    place = op.cast(count(op, size), torch.float32)
    inside = op.And(
        op.GreaterOrEqual(place, op.unsqueeze(low, 2)), op.Less(place, op.unsqueeze(high, 2))
    )
    return op.cast(inside, torch.float32)
