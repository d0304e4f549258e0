"""How far a model moves by itself when the last digits of its inner values are others.

Two libraries add up in other orders, and the digits that differ then are as good in one as in the
other. A model that makes them larger at every layer gives another answer with every library, and no
file can be told right from wrong by it. The operators are those below autograd of torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_ROUNDINGS = 4  # of a sum: each of its terms has one of its own


class Tremor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Moves every result by a few roundings, up or down."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        moves = isinstance(out, torch.Tensor) and out.is_floating_point() and args
        if not moves or func.is_view or func._schema.is_mutable or out.is_quantized:
            return out
        ways = torch.randint(-1, 2, out.shape, generator=self._generator, dtype=torch.int8)
        least = _ROUNDINGS * torch.finfo(out.dtype).eps
        return torch.where(ways == 0, out, out * (1 + least * ways).to(out.dtype))
