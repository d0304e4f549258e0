"""How much a call of a model computes, in what is counted and no clock: the same on every machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.storages import storage_if_any

# What a call of torch's and an element that it reads or writes take on a usual processor.
_CALL_SECONDS = 5e-6
_ELEMENT_SECONDS = 1e-9


class Effort:
    """Adds up the calls of torch's that Python makes."""

    def __init__(self) -> None:
        self._calls = 0
        self._elements = 0

    def note(self, args: Any, result: Any) -> None:
        self._calls += 1
        given = {storage_if_any(tensor): tensor.numel() for tensor in _tensors(args)}
        made = [tensor for tensor in _tensors(result) if storage_if_any(tensor) not in given]
        if made:  # a view reads nothing
            self._elements += sum(given.values()) + sum(tensor.numel() for tensor in made)

    @property
    def seconds(self) -> float:
        """That a usual processor takes."""
        return self._calls * _CALL_SECONDS + self._elements * _ELEMENT_SECONDS


def _tensors(value: Any) -> Iterator[Any]:
    import torch

    if isinstance(value, torch.Tensor):
        # Of a sparse or a nested one nobody knows without a look.
        if value.layout is torch.strided and not value.is_nested:
            yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from _tensors(each)
