"""How far a model moves by itself when the last digits of its inner values are others.

Two libraries add up in other orders, and the digits that differ then are as good in one as in the
other. A model that makes them larger at every layer gives another answer with every library, and no
file can be told right from wrong by it. The operators are those below autograd of torch 2.13 and 2.15."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

_ROUNDINGS = 4  # of a sum: each of its terms has one of its own
_DRAWN = 1_000_003  # a prime: no size goes round with it
_WHOLE = {"aten::floor", "aten::ceil", "aten::round", "aten::trunc"}  # the same in every library


class Tremor(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Moves every result by a few roundings, up or down, unless it is whole numbers.

    To draw for each element takes longer than the model: the same draws serve all results, each from
    a place of its own."""

    def __init__(self, seed: int) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._places = random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        self._ways = torch.randint(-1, 2, (_DRAWN,), generator=generator, dtype=torch.float64)
        self._factors: dict[torch.dtype, torch.Tensor] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        if not args or func.is_view or func._schema.is_mutable or func._schema.name in _WHOLE:
            return out
        if isinstance(out, tuple):  # a normalisation gives its mean beside the result
            return tuple(self._moved(each) for each in out)
        return self._moved(out)

    def _moved(self, out: Any) -> Any:
        if not isinstance(out, torch.Tensor) or not out.is_floating_point() or out.is_quantized:
            return out
        return out * self._drawn(out.dtype, out.numel()).view(out.shape).to(out.device)

    def _drawn(self, dtype: torch.dtype, count: int) -> torch.Tensor:
        place = self._places.randrange(_DRAWN)
        factors = self._factors.get(dtype)
        if factors is None or len(factors) < place + count:
            least = _ROUNDINGS * torch.finfo(dtype).eps
            rounds = (place + count) // _DRAWN + 1
            factors = (1 + least * self._ways).to(dtype).repeat(rounds)
            self._factors[dtype] = factors
        return factors[place : place + count]
