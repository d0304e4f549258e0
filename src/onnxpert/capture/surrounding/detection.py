"""torchvision's functions that loop as often as the data say, in words that need no loop.

`batched_nms` moves the classes of few boxes apart, and goes through those of many one by one: it is
recorded whole, as an operator that is the same function to whoever runs it. `paste_masks_in_image`
takes one mask after the other: each is resized by a product with two small matrices, so all of them
are at once. `heatmaps_to_keypoints` makes each map as large as its box and looks for its largest
element: to do that for all maps is an operator too, and the rest needs no loop. The names are
torchvision's own; tried on 0.29."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from types import FunctionType
from typing import Any

import torch

Tensor = torch.Tensor
_NAME = "onnxpert::batched_nms"
_PEAKS = "onnxpert::peaks"
_HEADS = "torchvision.models.detection.roi_heads"


@contextmanager
def without_loops_over_data() -> Iterator[None]:
    """While on, those functions do it in our way, under whatever name a model has imported them."""
    with ExitStack() as stack:
        plain = stack.enter_context(_recoded("torchvision.ops.boxes", "batched_nms", _suppressed))
        if plain is not None:
            _kernels()[_NAME] = plain
        stack.enter_context(_recoded(_HEADS, "paste_masks_in_image", _pasted))
        if stack.enter_context(_recoded(_HEADS, "heatmaps_to_keypoints", _located)) is not None:
            _define_peaks()
        yield


@contextmanager
def _recoded(home: str, name: str, ours: Callable[..., Any]) -> Iterator[Callable[..., Any] | None]:
    """While on, a function runs other code; gives the function as it was, None if there is none."""
    function = getattr(sys.modules.get(home), name, None)
    if not isinstance(function, FunctionType):  # nobody has imported it, so nobody calls it
        yield None
        return
    plain = function.__code__
    function.__code__ = ours.__code__
    try:
        yield FunctionType(plain, function.__globals__, name, function.__defaults__)
    finally:
        function.__code__ = plain


# ---- suppression -------------------------------------------------------------------------------


def _suppressed(boxes: Any, scores: Any, idxs: Any, iou_threshold: Any) -> Any:
    return torch.ops.onnxpert.batched_nms(boxes, scores, idxs, iou_threshold)


@functools.cache
def _kernels() -> dict[str, Callable[..., Any]]:
    """Defines the operator; gives the place of what it runs."""
    held: dict[str, Callable[..., Any]] = {}
    torch.library.define(
        _NAME, "(Tensor boxes, Tensor scores, Tensor idxs, float iou_threshold) -> Tensor"
    )

    def kernel(*args: Any) -> Any:
        return held[_NAME](*args)

    def kept(boxes: Tensor, *_: Any) -> Tensor:
        count = torch.library.get_ctx().new_dynamic_size()
        return boxes.new_empty((count,), dtype=torch.int64)

    torch.library.impl(_NAME, "CPU", kernel)
    torch.library.register_fake(_NAME, kept)
    return held


# ---- masks -------------------------------------------------------------------------------------


def _pasted(masks: Any, boxes: Any, img_shape: Any, padding: Any = 1) -> Any:
    from onnxpert.capture.surrounding.detection import pasted  # it runs among torchvision's names

    return pasted(masks, boxes, img_shape, padding)


def pasted(masks: Tensor, boxes: Tensor, img_shape: tuple[Any, Any], padding: int) -> Tensor:
    """Masks of shape [boxes, 1, side, side] as large as the image, each in its box."""
    heads: Any = sys.modules[_HEADS]
    masks, scale = heads.expand_masks(masks, padding=padding)
    boxes = heads.expand_boxes(boxes, scale).to(dtype=torch.int64)
    left, top, right, bottom = boxes.unbind(1)
    rows = _weights(top, bottom, img_shape[0], masks.shape[-2], masks.dtype)
    columns = _weights(left, right, img_shape[1], masks.shape[-1], masks.dtype)
    return (rows @ masks[:, 0] @ columns.transpose(1, 2))[:, None]


def _weights(first: Tensor, last: Tensor, size: Any, count: int, dtype: torch.dtype) -> Tensor:
    """How much each of `count` values has of each place in the image, as they are spread from the
    first to the last: a straight line between neighbours, and nothing outside."""
    places = torch.arange(size) - first[:, None]
    extent = (last - first + 1).clamp(min=1)[:, None]
    at = (places.to(dtype) + 0.5) * (count / extent.to(dtype)) - 0.5
    distance = at.clamp(0, count - 1)[:, :, None] - torch.arange(count, dtype=dtype)
    inside = (places >= 0) & (places <= (last - first)[:, None])
    return (1 - distance.abs()).clamp(min=0) * inside[:, :, None].to(dtype)


# ---- keypoints ---------------------------------------------------------------------------------


def _located(maps: Any, rois: Any) -> Any:
    from onnxpert.capture.surrounding.detection import located  # it runs among torchvision's names

    return located(maps, rois)


def located(maps: Tensor, rois: Tensor) -> tuple[Tensor, Tensor]:
    """Where in its box, of (left, top, right, bottom), each map of shape [boxes, keypoints, side, side]
    is largest, as (x, y, 1); and how large it is there."""
    corners = rois[:, :2]
    extents = (rois[:, 2:] - corners).clamp(min=1)
    whole = extents.ceil().to(torch.int64)
    scores, places = torch.ops.onnxpert.peaks(maps, whole.flip(1))
    columns = places % whole[:, :1]
    rows = torch.div(places - columns, whole[:, :1], rounding_mode="floor")
    steps = extents / whole  # a box ends within an element
    at = (torch.stack([columns, rows], 2).to(torch.float32) + 0.5) * steps[:, None]
    points = at + corners[:, None]
    return torch.cat([points, torch.ones_like(points[:, :, :1])], 2), scores


@functools.cache
def _define_peaks() -> None:
    """The largest element of each map, and its place, once the map has so many (rows, columns)."""
    torch.library.define(_PEAKS, "(Tensor maps, Tensor sizes) -> (Tensor, Tensor)")

    def kernel(maps: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        scores = maps.new_empty(maps.shape[:2])
        places = sizes.new_empty(maps.shape[:2])
        for number, size in enumerate(sizes.tolist()):
            large = torch.nn.functional.interpolate(maps[number][None], size=size, mode="bicubic")[
                0
            ]
            scores[number], places[number] = large.flatten(1).max(1)
        return scores, places

    def found(maps: Tensor, sizes: Tensor) -> tuple[Tensor, Tensor]:
        return maps.new_empty(maps.shape[:2]), sizes.new_empty(maps.shape[:2])

    torch.library.impl(_PEAKS, "CPU", kernel)
    torch.library.register_fake(_PEAKS, found)
