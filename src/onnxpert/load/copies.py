"""Copies of the example inputs, so that nothing downstream can change the user's own."""

from __future__ import annotations

import copy
from typing import Any

import torch

from onnxpert.core.dress import dressed_as, undressed


def copied(value: Any) -> Any:
    """A value of its own: a tensor with the same strides and no history, or a deep copy."""
    if isinstance(value, torch.Tensor):
        return dressed_as(_tensor(undressed(value)), value)
    try:
        return copy.deepcopy(value)
    except Exception:  # a handle of some kind: nothing of ours writes to it
        return value


def _tensor(value: torch.Tensor) -> torch.Tensor:
    """Two equal tensors in, two tensors out: an alias would make one graph input of them."""
    clone = value.detach().clone()
    if value.layout is not torch.strided or value.is_nested:
        return clone
    if clone.stride() == value.stride() or value.numel() == 0:
        return clone
    # clone() makes gaps and repeats contiguous; the model may look at strides.
    needed = 1 + sum(
        (size - 1) * stride for size, stride in zip(value.shape, value.stride(), strict=True)
    )
    memory = torch.as_strided(value.detach(), (needed,), (1,), value.storage_offset()).clone()
    return torch.as_strided(memory, value.shape, value.stride())


def is_partial(value: Any) -> bool:
    """Whether a tensor is a view of memory that holds more than itself."""
    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided or value.is_nested:
        return False
    if value.is_meta or not value.numel():
        return False
    last = sum((size - 1) * step for size, step in zip(value.shape, value.stride(), strict=True))
    whole = value.untyped_storage().nbytes() // value.element_size()
    return value.storage_offset() != 0 or last + 1 < whole
