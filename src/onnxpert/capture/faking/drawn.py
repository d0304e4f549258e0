"""Shapes of random tensors that are drawn with a generator: `torch.randn(n, 3, generator=None)`.

Named, if only as None, it makes the call one that torch's own shape functions take no symbols in. The
one that names none gives a tensor of the same look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten


def _drawn(plain: Any) -> Callable[..., Any]:
    def shape(*args: Any, **named: Any) -> Any:
        return plain(*args, **{key: value for key, value in named.items() if key != "generator"})

    return shape


DRAWN: dict[Any, Callable[..., Any]] = {
    aten.rand.generator: _drawn(aten.rand.default),
    aten.randn.generator: _drawn(aten.randn.default),
    aten.randint.generator: _drawn(aten.randint.default),
    aten.randint.low_generator: _drawn(aten.randint.low),
    aten.randperm.generator: _drawn(aten.randperm.default),
}
