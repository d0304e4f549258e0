"""Numbers of which only a run knows where in memory they are: `for n in sizes: torch.arange(n)`.

Where torch takes a number, it takes a tensor that is one, and reads it before any operator is called;
not so where the tensor's place is a symbol, as that of a row in a loop is. A copy has a place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode

_MADE_OF_NUMBERS = frozenset({torch.arange, torch.range, torch.full})  # and of no tensor


class PlacedNumbers(TorchFunctionMode):
    """While on, a whole number that is a tensor can be read wherever it lies."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if not any(map(_is_unplaced, _all((args, tuple(given.values()))))):
            return func(*args, **given)
        # The first one is what a method is called on.
        kept = () if func in _MADE_OF_NUMBERS else args[:1]
        rest = _placed(args[len(kept) :])
        named = {key: one if key == "out" else _placed(one) for key, one in given.items()}
        return func(*(map(_inside, kept)), *rest, **named)


def _all(value: Any) -> Iterator[Any]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _all(one)
    else:
        yield value


def _is_unplaced(value: Any) -> bool:
    if not isinstance(value, FakeTensor) or value.dim() or value.dtype.is_floating_point:
        return False
    return isinstance(value.storage_offset(), torch.SymInt)


def _placed(value: Any) -> Any:
    if type(value) in (list, tuple):
        return type(value)(map(_placed, value))
    return value.clone() if _is_unplaced(value) else value


def _inside(value: Any) -> Any:
    """A list of numbers that comes first: a size, say."""
    return value if isinstance(value, torch.Tensor) else _placed(value)
