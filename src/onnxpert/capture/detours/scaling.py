"""Interpolation by a factor that a size makes: `interpolate(table, scale_factor=(h + 0.1) / 14)`.

A factor is a float to torch's operators, so it is frozen before any of them is called. Here the places
that are read, and how much each counts, are worked out from the factor as torch's kernels do it."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import torch
from torch.nn import functional

from onnxpert.capture.detour import Call, detour

Tensor: TypeAlias = torch.Tensor
# From where each result begins among the values, how far it is to the next one and how many values
# there are: the places that are read, and how much each of them counts (None: it is all).
Kernel: TypeAlias = Callable[[Tensor, Tensor, Any], Iterator[tuple[Tensor, Tensor | None]]]

_NAMES = ("size", "scale_factor", "mode", "align_corners", "recompute_scale_factor", "antialias")
_DEFAULTS = (None, None, "nearest", None, None, False)
_SYMBOLS = (torch.SymFloat, torch.SymInt)
_SHARPNESS = -0.75  # of torch's cubics


@detour(functional.interpolate)
def scaled(call: Call) -> Any:
    """A factor that is made of a size stays one."""
    if not call.args or not isinstance(call.args[0], Tensor):
        return NotImplemented
    asked: dict[str, Any] = dict(zip(_NAMES, _DEFAULTS, strict=True))
    asked |= dict(zip(_NAMES, call.args[1:], strict=False)) | call.kwargs
    return _scaled(call.args[0], **asked)


def _scaled(
    x: Tensor,
    *,
    size: Any,
    scale_factor: Any,
    mode: str,
    align_corners: bool | None,
    recompute_scale_factor: bool | None,
    antialias: bool,
) -> Any:
    axes = x.dim() - 2
    is_many = isinstance(scale_factor, (list, tuple))
    factors = list(scale_factor) if is_many else [scale_factor] * axes
    if size is not None or not any(isinstance(factor, _SYMBOLS) for factor in factors):
        return NotImplemented
    if recompute_scale_factor or antialias or len(factors) != axes or not x.is_floating_point():
        return NotImplemented
    kernel = _KERNELS.get((mode, axes))
    if kernel is None:
        return NotImplemented
    sizes = [math.floor(old * factor) for old, factor in zip(x.shape[2:], factors, strict=True)]
    if align_corners:  # then the sizes alone tell where to read
        return functional.interpolate(x, sizes, mode=mode, align_corners=True)
    for axis, (new, factor) in enumerate(zip(sizes, factors, strict=True), 2):
        x = _along(x, axis, new, factor, kernel)
    return x


def _along(x: Tensor, axis: int, size: Any, factor: Any, kernel: Kernel) -> Tensor:
    weighs = kernel not in (_nearest, _nearest_exact)
    dtype = torch.float64 if weighs and x.dtype is torch.float64 else torch.float32
    step = torch.scalar_tensor(1.0 / factor, dtype=dtype)
    for times in _BY_SIZE.get((kernel, x.dim() - 2), ()):
        is_so = torch.scalar_tensor(size) == torch.scalar_tensor(times * x.shape[axis])
        step = torch.where(is_so, torch.scalar_tensor(1.0 / times, dtype=dtype), step)
    behind = [1] * (x.dim() - axis - 1)
    parts = []
    for place, weight in kernel(torch.arange(size, dtype=dtype) * step, step, x.shape[axis]):
        part = x.index_select(axis, place)
        parts.append(part if weight is None else part * weight.reshape(-1, *behind))
    return functools.reduce(operator.add, parts).to(x.dtype)


def _nearest(at: Tensor, _: Tensor, size: Any) -> Iterator[tuple[Tensor, None]]:
    yield _within(at.floor(), size), None


def _nearest_exact(at: Tensor, step: Tensor, size: Any) -> Iterator[tuple[Tensor, None]]:
    yield _within((at + 0.5 * step).floor(), size), None


def _line(at: Tensor, step: Tensor, size: Any) -> Iterator[tuple[Tensor, Tensor]]:
    middle = (at + 0.5 * step - 0.5).clamp(min=0)
    first = middle.floor()
    yield _within(first, size), 1 - (middle - first)
    yield _within(first + 1, size), middle - first


def _cubic(at: Tensor, step: Tensor, size: Any) -> Iterator[tuple[Tensor, Tensor]]:
    middle = at + 0.5 * step - 0.5
    first = middle.floor()
    for offset in range(-1, 3):
        yield _within(first + offset, size), _weight((middle - first - offset).abs())


def _within(place: Tensor, size: Any) -> Tensor:
    whole = place.long()
    return whole.clamp(min=0).minimum(torch.scalar_tensor(size - 1, dtype=whole.dtype))


def _weight(far: Tensor) -> Tensor:
    """How much a value counts that is as far away, up to two steps."""
    a = _SHARPNESS
    near = ((a + 2) * far - (a + 3)) * far * far + 1
    return torch.where(far <= 1, near, ((far - 5) * far + 8) * far * a - 4 * a)


_KERNELS: dict[tuple[str, int], Kernel] = {
    ("bicubic", 2): _cubic,
    ("linear", 1): _line,
    ("bilinear", 2): _line,
    ("trilinear", 3): _line,
    **{("nearest", axes): _nearest for axes in (1, 2, 3)},
    **{("nearest-exact", axes): _nearest_exact for axes in (1, 2, 3)},
}
# How many times as large a result is for which torch does not ask for the factor any more.
_BY_SIZE: dict[tuple[Kernel, int], tuple[int, ...]] = {
    (_nearest, 2): (1, 2),
    **{(_line, axes): (1,) for axes in (1, 2, 3)},
}
