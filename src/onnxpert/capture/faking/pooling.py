"""Sizes of what pooling leaves, said without a guess at whether the last window fits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import guard_or_false

aten = torch.ops.aten
Tensor = torch.Tensor


def for_each(value: Any, count: int) -> list[int]:
    """An argument for each dimension, of which one may stand for all."""
    if isinstance(value, int):
        return [value] * count
    return list(value) * count if len(value) == 1 else list(value)


def _pooled(rank: int, dilated: bool) -> Callable[..., Any]:
    """For rounding up, since torch's own assumes for ever that the last window fits, or does not; and
    for the maximum along one dimension, since torch's own makes a number of the size."""
    counts = rank == 1 and dilated

    def shape(
        input: Tensor, kernel_size: Any, stride: Any = (), padding: Any = 0, *rest: Any
    ) -> Any:
        dilation = rest[0] if dilated and rest else 1
        ceil_mode = rest[1 if dilated else 0] if len(rest) > dilated else False
        if not (ceil_mode or counts) or all(isinstance(size, int) for size in input.shape):
            return NotImplemented
        if input.dim() not in {rank + 1, rank + 2}:
            return NotImplemented
        kernels = for_each(kernel_size, rank)
        steps = for_each(stride, rank) if isinstance(stride, int) or stride else kernels
        sizes = []
        for size, kernel, step, pad, spread in zip(
            input.shape[-rank:],
            kernels,
            steps,
            for_each(padding, rank),
            for_each(dilation, rank),
            strict=True,
        ):
            free = size + 2 * pad - spread * (kernel - 1) - 1
            if guard_or_false(free < 0) or 2 * pad > spread * (kernel - 1) + 1:
                return NotImplemented
            # No window starts in the padding behind.
            fitting, starting = (free + step - 1) // step, (size + pad - 1) // step
            rounded_up = torch.sym_min(fitting, starting)  # type: ignore[no-untyped-call]
            sizes.append((rounded_up if ceil_mode else free // step) + 1)
        return input.new_empty((*input.shape[:-rank], *sizes))

    return shape


def _adapted(input: Tensor, output_size: Any) -> Any:
    """To a size that only the data know; torch's own asks whether it is 1, for a quicker way."""
    if not any(isinstance(s, torch.SymInt) and not s.node.has_hint() for s in output_size):
        return NotImplemented
    rank = len(output_size)
    return input.new_empty((*input.shape[:-rank], *output_size))


POOLED: dict[Any, Callable[..., Any]] = {
    aten.max_pool1d.default: _pooled(1, dilated=True),
    aten.max_pool2d.default: _pooled(2, dilated=True),
    aten.max_pool3d.default: _pooled(3, dilated=True),
    aten.avg_pool1d.default: _pooled(1, dilated=False),
    aten.avg_pool2d.default: _pooled(2, dilated=False),
    aten.avg_pool3d.default: _pooled(3, dilated=False),
    aten.adaptive_avg_pool2d.default: _adapted,
    aten.adaptive_avg_pool3d.default: _adapted,
}
