"""Pooling to a size that varies: `adaptive_max_pool2d(x, y.shape[2:])`.

Some of these functions take whole numbers alone, so torch freezes the sizes before any operator is
called. `torch._C._nn` is torch's own; tried on 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from onnxpert.capture.detour import Call, detour

Tensor = torch.Tensor
_MEAN = torch.adaptive_avg_pool1d
_LARGEST: dict[Any, int] = {
    functional.adaptive_max_pool1d: 1,
    functional.adaptive_max_pool2d: 2,
    functional.adaptive_max_pool3d: 3,
}
_PLACED: dict[Any, int] = {
    functional.adaptive_max_pool1d_with_indices: 1,
    functional.adaptive_max_pool2d_with_indices: 2,
    functional.adaptive_max_pool3d_with_indices: 3,
}
_RANKS = {_MEAN: 1, **_LARGEST, **_PLACED}


@detour(*_RANKS)
def as_many_windows(call: Call) -> Any:
    """As many windows are made as a symbol says."""
    if not call.args or not isinstance(call.args[0], Tensor):
        return NotImplemented
    x, rank = call.args[0], _RANKS[call.func]
    wanted = call.args[1] if len(call.args) > 1 else call.kwargs.get("output_size")
    asked = list(wanted) if isinstance(wanted, (list, tuple)) else [wanted] * rank
    sizes = x.shape[-rank:]
    if len(asked) != len(sizes):
        return NotImplemented
    counts = [n if count is None else count for n, count in zip(sizes, asked, strict=True)]
    if not any(isinstance(count, torch.SymInt) for count in counts):
        return NotImplemented
    return _pooled(call.func, x, counts)


def _pooled(func: Any, x: Tensor, counts: Sequence[Any]) -> Any:
    if func is _MEAN:
        return _mean(x, *counts)
    values, places = _largest(x, counts)
    return (values, places) if func in _PLACED else values


def _mean(x: Tensor, count: Any) -> Tensor:
    """Along two axes torch takes symbols."""
    plane: Tensor = torch._C._nn.adaptive_avg_pool2d(x.unsqueeze(-2), (1, count))
    return plane.squeeze(-2)


def _largest(x: Tensor, counts: Sequence[Any]) -> tuple[Tensor, Tensor]:
    """Of each window, written out along axes of its own, and where in the plane that is."""
    rank = len(counts)
    sizes = x.shape[-rank:]
    places = []
    for axis, (size, count) in enumerate(zip(sizes, counts, strict=True)):
        shape: list[Any] = [1] * (2 * rank)
        own = _windows(size, count)
        shape[axis], shape[rank + axis] = own.shape
        places.append(own.reshape(shape))
    index: tuple[Any, ...] = (..., *places)
    windows = x[index].flatten(-rank)
    best = windows.argmax(-1, keepdim=True)
    spots = torch.zeros([], dtype=torch.int64)
    for own, size in zip(places, sizes, strict=True):
        spots = spots * size + own
    spots = spots.flatten(-rank).expand(windows.shape)
    return windows.amax(-1), spots.gather(-1, best).squeeze(-1)


def _windows(size: Any, count: Any) -> Tensor:
    """The places each window reads, a row for each; the shorter ones read their last one again."""
    number = torch.arange(count)
    parts = torch.sym_max(count, 1)  # type: ignore[no-untyped-call]
    start = torch.div(number * size, parts, rounding_mode="floor")
    end = torch.div((number + 1) * size + parts - 1, parts, rounding_mode="floor")
    longest = (size + parts - 1) // parts + 1
    spots = start.unsqueeze(1) + torch.arange(longest)
    return torch.minimum(spots, end.unsqueeze(1) - 1)
