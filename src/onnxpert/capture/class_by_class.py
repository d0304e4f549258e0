"""torchvision's `batched_nms`, recorded whole: how it goes about it depends on how many boxes it gets.

With few it moves the classes apart, with many it loops over those that occur. Both are one operator
here, which is the same function to whoever runs it. Tried on torchvision 0.29."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import torch

_NAME = "onnxpert::batched_nms"


@contextmanager
def class_by_class() -> Iterator[None]:
    """While on, `batched_nms` is one call, under whatever name a model has imported it."""
    home: Any = sys.modules.get("torchvision.ops.boxes")
    function = getattr(home, "batched_nms", None)
    if not isinstance(function, FunctionType):  # nobody has imported it, so nobody calls it
        yield
        return
    plain = function.__code__
    _define(FunctionType(plain, function.__globals__))
    function.__code__ = _whole.__code__
    try:
        yield
    finally:
        function.__code__ = plain


def _whole(
    boxes: torch.Tensor, scores: torch.Tensor, idxs: torch.Tensor, iou_threshold: float
) -> Any:
    return torch.ops.onnxpert.batched_nms(boxes, scores, idxs, iou_threshold)


@functools.cache
def _defined() -> dict[str, FunctionType]:
    """The operator, and what it runs."""
    kernel: dict[str, FunctionType] = {}
    torch.library.define(
        _NAME, "(Tensor boxes, Tensor scores, Tensor idxs, float iou_threshold) -> Tensor"
    )
    torch.library.impl(_NAME, "CPU", lambda *args: kernel[_NAME](*args))

    @torch.library.register_fake(_NAME)
    def kept(boxes: torch.Tensor, *_: Any) -> torch.Tensor:
        count = torch.library.get_ctx().new_dynamic_size()
        return boxes.new_empty((count,), dtype=torch.int64)

    return kernel


def _define(plain: FunctionType) -> None:
    _defined()[_NAME] = plain
