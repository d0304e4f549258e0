"""When the model refuses its own example: experiments that show what it would take."""

from __future__ import annotations

import copy
import re
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch

from onnxpert.capture.flat import fed
from onnxpert.core.types import Failure, Loaded

_TOO_SMALL = re.compile(
    r"kernel size can't be greater|output size is too small|smaller than kernel|"
    r"padding size should be less than|expected more than 1 spatial element",
    re.IGNORECASE,
)
_LARGEST = 512
Call = Callable[..., Any]


def working_casts(loaded: Loaded, call: Call) -> dict[str, str]:
    """Casts of floating inputs to the weights' dtype, if with them the model runs."""
    dtype = weight_dtype(loaded.module)
    if dtype is None:
        return {}
    casts = {
        leaf.name: str(dtype).removeprefix("torch.")
        for leaf in fed(loaded)
        if isinstance(leaf.value, torch.Tensor)
        and leaf.value.is_floating_point()
        and leaf.value.dtype != dtype
    }
    values = [_cast(leaf.name, leaf.value, casts) for leaf in fed(loaded)]
    return casts if casts and _runs(call, values) else {}


def weight_dtype(module: Any) -> torch.dtype | None:
    """The floating dtype that most of the model's weights have."""
    if not isinstance(module, torch.nn.Module):
        return None
    counts = Counter(p.dtype for p in module.parameters() if p.is_floating_point())
    return counts.most_common(1)[0][0] if counts else None


def _cast(name: str, value: Any, casts: Mapping[str, str]) -> Any:
    return value.to(getattr(torch, casts[name])) if name in casts else value


def working_sizes(loaded: Loaded, failure: Failure, call: Call) -> dict[str, tuple[int, ...]]:
    """The smallest image (or signal, or volume) that the model takes, if the example is too small."""
    if not _TOO_SMALL.search(failure.text):
        return {}
    spatial = [
        leaf
        for leaf in fed(loaded)
        if isinstance(leaf.value, torch.Tensor) and leaf.value.dim() >= 3
    ]

    def at(size: int) -> list[Any]:
        return [_grown(leaf.value, size) if leaf in spatial else leaf.value for leaf in fed(loaded)]

    low, high = 0, 1
    while high <= _LARGEST and not _runs(call, at(high)):
        low, high = high, high * 2
    if not spatial or high > _LARGEST:
        return {}
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _runs(call, at(middle)) else (middle, high)
    return {leaf.name: tuple(_grown(leaf.value, high).shape) for leaf in spatial}


def _grown(tensor: torch.Tensor, size: int) -> torch.Tensor:
    shape = [*tensor.shape[:2], *(max(size, have) for have in tensor.shape[2:])]
    return torch.zeros(shape, dtype=tensor.dtype)


def _runs(call: Call, values: list[Any]) -> bool:
    try:
        with torch.no_grad():
            call(*copy.deepcopy(values))
    except Exception:  # any refusal is an answer to the question
        return False
    return True
