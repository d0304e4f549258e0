"""Where the inner values of a model leave the range of their type: what it gives then is nobody's answer.

An iteration that converges near the example runs away elsewhere. Whether a product of such values is
infinite or NaN depends on the order in which a library adds up. An infinity that a model writes itself (a
mask), or that is one in exact numbers (`log(0)`, `1 / 0`), is none of these."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

aten = torch.ops.aten
# What makes numbers larger that are finite.
_GROWING = frozenset(
    {
        *(aten.add, aten.sub, aten.mul, aten.square, aten.pow, aten.exp, aten.exp2, aten.expm1),
        *(aten.sum, aten.prod, aten.cumsum, aten.cumprod, aten.sinh, aten.cosh, aten.addcmul),
        *(aten.mm, aten.bmm, aten.addmm, aten.baddbmm, aten.mv, aten.dot, aten.convolution),
    }
)


class Overflow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the calls that are given numbers and whose results are not all numbers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: set[tuple[str, int]] = set()  # an operator, and how often it was called before
        self._met: dict[str, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func.overloadpacket not in _GROWING:
            return func(*args, **(kwargs or {}))
        name = str(func)
        self._met[name] = self._met.get(name, -1) + 1
        given = _are_numbers((args, kwargs))
        out = func(*args, **(kwargs or {}))
        if given and not _are_numbers(out):
            self.calls.add((name, self._met[name]))
        return out


def _are_numbers(values: Any) -> bool:
    return all(map(_is_finite, pytree.tree_leaves(values)))


def _is_finite(value: Any) -> bool:
    if isinstance(value, float):
        return abs(value) < float("inf")
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return True
    if value.is_quantized or not (value.is_floating_point() or value.is_complex()):
        return True
    return bool(value.isfinite().all())
