"""Boxes and regions of torchvision's: non-maximum suppression, pooling over regions, keypoints in them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size

_ALL = 2**31 - 1  # boxes; the runtime counts them in 32 bits
_FEW = 4000  # coordinates, up to which torchvision moves the classes apart
_LEAST = -3.4028234663852886e38  # of float32


@lowering("torchvision::nms")
def nms(op: Emitter, dets: ir.Value, scores: ir.Value, iou_threshold: float) -> ir.Value:
    ranks = op.cast(scores, torch.float32)
    kept = _selected(op, dets, op.unsqueeze(ranks, 0, 1), iou_threshold)
    if op.out is not None:
        op.describe(kept, (op.out.shape[0], 1))
    return op.squeeze(kept, 1)


def _selected(
    op: Emitter, dets: ir.Value, ranks: ir.Value, iou_threshold: float, *least: ir.Value
) -> ir.Value:
    """The numbers of the boxes that stay, in one column; `ranks` has a row for each class."""
    boxes = op.cast(dets, torch.float32)
    # A box whose corners are the wrong way round covers nothing for torch, which never drops it;
    # ONNX would turn it round. Without an extent it covers nothing for both.
    low = op.Slice(boxes, [0], [2], [1])
    high = op.Slice(boxes, [2], [4], [1])
    boxes = op.Concat(low, op.Max(low, high), axis=1)
    chosen = op.NonMaxSuppression(
        op.unsqueeze(boxes, 0),
        ranks,
        op.const([_ALL], torch.int64),
        op.const([iou_threshold], torch.float32),
        *least,
    )
    return op.Slice(chosen, [2], [3], [1])


@lowering("onnxpert::batched_nms")
def batched_nms(
    op: Emitter, boxes: ir.Value, scores: ir.Value, idxs: ir.Value, iou_threshold: float
) -> ir.Value:
    """torchvision moves the classes apart where there are few boxes, and else takes them one by
    one: rounding makes that a difference. Here few boxes are moved, and are then of one class."""
    classes, plain = op.cast(idxs, torch.int64), op.cast(boxes, torch.float32)
    few = op.LessOrEqual(op.Size(plain), op.const(_FEW, torch.int64))
    least = op.const([_LEAST], torch.float32)
    largest = op.ReduceMax(
        op.Concat(op.reshape(plain, (product(op.shape(plain)),)), least, axis=0), keepdims=0
    )
    step = op.Where(
        few, op.Add(largest, op.const(1.0, torch.float32)), op.const(0.0, torch.float32)
    )
    moved = op.Add(plain, op.unsqueeze(op.Mul(op.cast(classes, torch.float32), step), 1))
    own = op.Where(few, op.const(0, torch.int64), classes)
    names, _, number, _ = op.emit("Unique", own, _outputs=4)
    rows = op.Range(op.const(0, torch.int64), op.Size(names), op.const(1, torch.int64))
    mine = op.Equal(op.unsqueeze(rows, 1), op.unsqueeze(number, 0))
    ranks = op.cast(scores, torch.float32)
    others = op.Where(mine, op.unsqueeze(ranks, 0), op.const(float("-inf"), torch.float32))
    kept = _selected(op, moved, op.unsqueeze(others, 0), iou_threshold, least)
    return _best_first(op, op.squeeze(kept, 1), ranks)


def _best_first(op: Emitter, kept: ir.Value, ranks: ir.Value) -> ir.Value:
    """Whatever their class; of equals, the one that came first."""
    count = op.reshape(op.Size(kept), (1,))
    rising, _ = op.emit("TopK", kept, count, axis=0, largest=0, sorted=1, _outputs=2)
    _, order = op.emit("TopK", op.Gather(ranks, rising), count, axis=0, sorted=1, _outputs=2)
    return op.Gather(rising, order)


@lowering("torchvision::roi_pool")
def roi_pool(
    op: Emitter,
    input: ir.Value,
    rois: ir.Value,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
) -> tuple[Any, Any]:
    if op.dtype(input) is not torch.float32 or op.dtype(rois) is not torch.float32:
        raise Refusal("regions are pooled in float32 only")
    pooled = op.MaxRoiPool(
        input, rois, pooled_shape=[pooled_height, pooled_width], spatial_scale=spatial_scale
    )
    sizes = (op.shape(rois)[0], op.shape(input)[1], pooled_height, pooled_width)
    bins = [(pooled_height, 2, 4), (pooled_width, 1, 3)]  # along each axis: how many, from, to
    # Asked for in training only: as a rule these nodes are dropped again.
    return op.describe(pooled, sizes), _largest_at(op, input, rois, spatial_scale, bins)


def _largest_at(
    op: Emitter,
    input: ir.Value,
    rois: ir.Value,
    scale: float,
    bins: Sequence[tuple[int, int, int]],
) -> Any:
    """The place of the largest element of each bin in its channel, -1 of a bin without any."""
    _, channels, *sizes = op.shape(input)
    number = op.shape(rois)[0]
    covers = [_covered(op, rois, scale, bin_, size) for bin_, size in zip(bins, sizes, strict=True)]
    down, across = op.unsqueeze(covers[0], 2, 4), op.unsqueeze(covers[1], 1, 3)
    inside = op.unsqueeze(op.And(down, across), 1)  # (rois, 1, bins, bins, height, width)
    batch = op.cast(op.Gather(rois, op.const(0, torch.int64), axis=1), torch.int64)
    elements = op.unsqueeze(op.Gather(input, batch, axis=0), 2, 3)
    counts = [each[0] for each in bins]
    shape = (number, channels, *counts, sizes[0] * sizes[1])
    lowest = op.scalar(torch.finfo(torch.float32).min, torch.float32)
    flat = op.reshape(op.Where(inside, elements, lowest), shape)
    place = op.ArgMax(flat, axis=4, keepdims=0)
    some = op.reduce("ReduceMax", op.cast(inside, torch.int32), [4, 5], False)
    place = op.Where(op.Greater(some, 0), place, op.const(-1, torch.int64))
    return op.cast(place, torch.int32)


def _covered(
    op: Emitter, rois: ir.Value, scale: float, bin_: tuple[int, int, int], size: Size
) -> ir.Value:
    """Which elements each bin of each region covers along one axis: (rois, bins, elements)."""
    count_, *ends = bin_
    start, end = (
        rounded(op, op.Mul(op.Gather(rois, op.const([at], torch.int64), axis=1), scale))
        for at in ends
    )
    step = op.Div(op.Max(op.Add(op.Sub(end, start), 1.0), 1.0), float(count_))
    each = op.const(torch.arange(count_).to(torch.float32))
    limit = op.scalar(size, torch.float32)
    low = op.Add(op.Floor(op.Mul(each, step)), start)
    high = op.Add(op.Ceil(op.Mul(op.Add(each, 1.0), step)), start)
    low, high = (op.Min(op.Max(value, 0.0), limit) for value in (low, high))
    place = op.cast(count(op, size), torch.float32)
    return op.And(
        op.GreaterOrEqual(place, op.unsqueeze(low, 2)), op.Less(place, op.unsqueeze(high, 2))
    )


def rounded(op: Emitter, x: ir.Value) -> ir.Value:
    """A half goes away from zero."""
    return op.Mul(op.Sign(x), op.Floor(op.Add(op.Abs(x), 0.5)))


@lowering("onnxpert::peaks")
def peaks(op: Emitter, maps: ir.Value, sizes: ir.Value) -> tuple[ir.Value, ir.Value]:
    """One map after the other: they become of different sizes, and the largest may be of an image's.

    A Loop, for ONNX Runtime refuses a Scan over nothing."""
    if op.dtype(maps) is not torch.float32:
        raise Refusal("maps are made larger by cubics in float32 only")
    number, points, *_ = shape = op.shape(maps)
    body = op.scope()
    turn, going = (_given(op, dtype) for dtype in (torch.int64, torch.bool))
    at = body.reshape(turn, (1,))
    goal = body.Gather(sizes, turn, axis=0)
    goal.shape = ir.Shape([2])  # ONNX's own inference takes what it does not know for none
    axes = [2, 3] if op.opset >= 18 else None
    if axes is None:
        goal = body.Concat(body.ints((1, points)), goal, axis=0)
    large = body.Resize(
        body.describe(body.Gather(maps, at, axis=0), (1, *shape[1:]), torch.float32),
        None,
        None,
        goal,
        axes=axes,
        mode="cubic",
        cubic_coeff_a=-0.75,
        coordinate_transformation_mode="half_pixel",
    )
    flat = body.Reshape(large, op.const([0, 0, -1], torch.int64))
    flat = body.Squeeze(flat, op.const([0], torch.int64))
    found = [body.reduce("ReduceMax", flat, [1], False), body.ArgMax(flat, axis=1, keepdims=0)]
    for value in found:  # of no map at all, the runtime asks here how many points there are
        value.shape = ir.Shape([points if isinstance(points, int) else None])
    graph = ir.Graph(
        [turn, going],
        [body.Equal(turn, turn), *found],  # always: the count alone ends the loop
        nodes=body.nodes,
        name=op.shared.nodes.unique("peaks"),
    )
    trips, always = op.scalar(number, torch.int64), op.const(True)
    scores, places = op.emit("Loop", trips, always, body=graph, _outputs=2)
    op.describe(scores, (number, points), torch.float32)
    return scores, op.describe(places, (number, points), torch.int64)


def _given(op: Emitter, dtype: torch.dtype) -> ir.Value:
    """A number that the body of a loop is given."""
    name = op.shared.values.unique("given")
    value = ir.Value(name=name, type=ir.TensorType(TO_ONNX[dtype]), shape=ir.Shape([]))
    value.meta["shape"] = ()
    return value
