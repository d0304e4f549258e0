"""Calls that take a plain number where a size is meant, said with calls that take a size."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch

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


def _linspace(start: Any, end: Any, steps: Any, *, dtype: Any = None, **_: Any) -> Any:
    turns = aten.arange.default(steps, dtype=dtype or torch.get_default_dtype())
    last = torch.sym_max(steps - 1, 1)  # type: ignore[no-untyped-call]
    return aten.add.Tensor(aten.mul.Tensor(aten.div.Tensor(turns, last), end - start), start)


def _one_hot(x: Any, classes: Any = -1) -> Any:
    places = aten.arange.default(classes, dtype=torch.int64)
    return aten.to.dtype(aten.eq.Tensor(aten.unsqueeze.default(x, -1), places), torch.int64)


def _hann(length: Any, *, dtype: Any = None, **_: Any) -> Any:
    turns = aten.arange.default(length, dtype=dtype or torch.get_default_dtype())
    angles = aten.mul.Tensor(aten.div.Tensor(turns, length), 2 * math.pi)
    window = aten.add.Tensor(aten.mul.Tensor(aten.cos.default(angles), -0.5), 0.5)
    lift = torch.sym_max(2 - length, 0)  # type: ignore[no-untyped-call]
    return aten.add.Tensor(window, lift)  # a window of one is one


OPENED: dict[Any, Callable[..., Any]] = {
    aten.avg_pool1d.default: _pooled(aten.mean.dim, 1),
    aten.avg_pool2d.default: _pooled(aten.mean.dim, 2),
    aten.avg_pool3d.default: _pooled(aten.mean.dim, 3),
    aten.max_pool1d.default: _pooled(aten.amax.default, 1),
    aten.max_pool2d.default: _pooled(aten.amax.default, 2),
    aten.max_pool3d.default: _pooled(aten.amax.default, 3),
    aten.linspace.default: _linspace,
    aten.one_hot.default: _one_hot,
    aten.hann_window.default: _hann,
}


def varies(args: Any) -> bool:
    """Whether a number among the arguments is a symbol."""
    if isinstance(args, (list, tuple)):
        return any(varies(item) for item in args)
    return isinstance(args, torch.SymInt)
