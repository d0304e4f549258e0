"""The answer of a call that is watched anyway, for a proof to begin with, if no dice were thrown."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable, Set
from typing import Any

import numpy
import torch

from onnxpert.core.effort import Effort
from onnxpert.core.types import Answer

_NUMBERS = (bool, int, float, complex)


def answered(
    call: Callable[[], tuple[Any, ...]], formats: Set[torch.dtype], effort: Effort
) -> Answer | None:
    """None where chance had a hand in it, or where it is not of plain tensors of this machine's own.

    `formats` and `effort` are what the call fills."""
    before = _dice()
    outputs = call()
    if _dice() != before or not all(map(_is_plain, outputs)):
        return None
    return Answer(tuple(map(_copied, outputs)), frozenset(formats), effort.seconds)


def _dice() -> tuple[Any, ...]:
    """The states of all generators that are nobody's in particular."""
    numpys = pickle.dumps(numpy.random.get_state())  # has an array in it, which compares by element
    return torch.get_rng_state().numpy().tobytes(), random.getstate(), numpys


def _is_plain(leaf: Any) -> bool:
    if type(leaf) not in (torch.Tensor, torch.nn.Parameter):
        return type(leaf) in _NUMBERS
    return leaf.device.type == "cpu" and leaf.layout is torch.strided and not leaf.is_quantized


def _copied(leaf: Any) -> Any:
    """It may be memory of the model's, or of an input's."""
    return leaf.detach().clone() if isinstance(leaf, torch.Tensor) else leaf
