"""Pooling over all of a size that varies: a mean or a maximum, which needs no window of that size.

`avg_pool2d(x, x.shape[2:])` takes whole numbers, so torch freezes the sizes before any operator is
called. Seen from outside of torch's own functions they are still sizes. `torch._C._nn` is torch's own;
tried on 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxpert.capture.reasoning import expression

Tensor = torch.Tensor


def _mean(x: Tensor, dims: list[int]) -> Tensor:
    return x.mean(dims, keepdim=True)


def _largest(x: Tensor, dims: list[int]) -> Tensor:
    return x.amax(dims, keepdim=True)


_POOLS: dict[Any, tuple[int, Callable[[Tensor, list[int]], Tensor]]] = {
    torch.avg_pool1d: (1, _mean),
    torch._C._nn.avg_pool2d: (2, _mean),
    torch._C._nn.avg_pool3d: (3, _mean),
    torch.max_pool1d: (1, _largest),
    torch.max_pool2d: (2, _largest),
    torch.max_pool3d: (3, _largest),
}


class FullWindows(TorchFunctionMode):
    """While on, a window as large as the input is no window."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        known = _POOLS.get(func)
        if known is not None and args and isinstance(args[0], Tensor):
            rank, pool = known
            window = args[1] if len(args) > 1 else kwargs.get("kernel_size")
            if _is_whole(args[0], window, rank) and not _is_padded(args, kwargs):
                return pool(args[0], list(range(-rank, 0)))
        return func(*args, **kwargs)


def _is_whole(x: Tensor, window: Any, rank: int) -> bool:
    """Whether the window is the input's own size, and that is one that varies."""
    sizes: Sequence[Any] = window if isinstance(window, (list, tuple)) else [window] * rank
    if len(sizes) != rank or x.dim() < rank or not any(isinstance(s, torch.SymInt) for s in sizes):
        return False
    whole = x.shape[-rank:]
    return all(expression(a) == expression(b) for a, b in zip(sizes, whole, strict=True))


def _is_padded(args: Any, kwargs: dict[str, Any]) -> bool:
    """Whether the window reaches beyond the input, or is divided by something of its own."""
    padding = args[3] if len(args) > 3 else kwargs.get("padding")
    divisor = args[6] if len(args) > 6 else kwargs.get("divisor_override")
    padded = sum(padding) if isinstance(padding, (list, tuple)) else padding
    return bool(padded) or divisor is not None
