"""The number formats that a call of torch's computes in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch

# Under autocast there are half-precision products inside of these, whatever they give.
_WITH_PRODUCTS = frozenset({"bilinear", "gru", "gru_cell", "lstm", "lstm_cell"})


def formats(function: Callable[..., Any], result: Any) -> Iterator[torch.dtype]:
    """The floating ones, of a function as Python calls it and what it gave."""
    import torch

    if torch.is_autocast_enabled("cpu") and function.__name__ in _WITH_PRODUCTS:
        yield torch.get_autocast_dtype("cpu")
    for value in result if isinstance(result, tuple) else (result,):
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            yield value.dtype
