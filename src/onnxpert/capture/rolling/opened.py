"""Calls that take a plain number where a size is meant, said with calls that take a size."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from onnxpert.capture.open_sizes.counted import COUNTED, one_hot
from onnxpert.capture.rolling.trace import UnalikeError
from onnxpert.capture.rolling.values import same

aten: Any = torch.ops.aten


def _pooled(reduce: Any, rank: int) -> Callable[..., Any]:
    """A window as large as the image: what is left of a pooling is its reduction."""

    def pool(x: Any, kernel: Sequence[Any], stride: Sequence[Any] = (), *rest: Any) -> Any:
        sizes = x.shape[-rank:]
        kernel = list(kernel) * (rank if len(kernel) == 1 else 1)
        whole = all(same(*both) for both in zip(kernel, sizes, strict=True))
        strides = all(same(*both) for both in zip(stride or kernel, kernel, strict=False))
        padded = any(rest[0]) if rest else False
        if not whole or not strides or padded:
            raise UnalikeError("a pooling window follows a size, and is not all of it")
        return reduce(x, [axis - rank for axis in range(rank)], True)

    return pool


def _counted(function: Any) -> Callable[..., Any]:
    """What is made of a count: the layout and the device say nothing more."""
    made = COUNTED[function].make

    def make(*args: Any, dtype: Any = None, **_: Any) -> Any:
        return made(*args, dtype=dtype or torch.get_default_dtype())

    return make


OPENED: dict[Any, Callable[..., Any]] = {
    aten.avg_pool1d.default: _pooled(aten.mean.dim, 1),
    aten.avg_pool2d.default: _pooled(aten.mean.dim, 2),
    aten.avg_pool3d.default: _pooled(aten.mean.dim, 3),
    aten.max_pool1d.default: _pooled(aten.amax.default, 1),
    aten.max_pool2d.default: _pooled(aten.amax.default, 2),
    aten.max_pool3d.default: _pooled(aten.amax.default, 3),
    aten.linspace.default: _counted(torch.linspace),
    aten.one_hot.default: one_hot,
    aten.hann_window.default: _counted(torch.hann_window),
}


def varies(args: Any) -> bool:
    """Whether a number among the arguments is a symbol."""
    if isinstance(args, (list, tuple)):
        return any(varies(item) for item in args)
    return isinstance(args, torch.SymInt)
