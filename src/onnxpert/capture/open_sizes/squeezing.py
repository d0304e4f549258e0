"""Sizes of 1 that vanish: `x.squeeze()` gives another rank where a size that varies is 1.

torch takes a size that varies for at least 2. That it is not 1 is an assumption here like any other;
where the proof finds it wrong, the model is asked, and the file holds both."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import sympy
import torch

from onnxpert.capture.reasoning import Frugal, expression

Tensor = torch.Tensor


def squeezed(input: Tensor) -> Any:
    return _noted(input, range(input.dim()))


def squeezed_dim(input: Tensor, dim: int) -> Any:
    return _noted(input, [dim])


def squeezed_dims(input: Tensor, dim: Sequence[int]) -> Any:
    return _noted(input, dim)


def _noted(input: Tensor, axes: Iterable[int]) -> Any:
    environment = getattr(getattr(input, "fake_mode", None), "shape_env", None)
    if not isinstance(environment, Frugal):
        return NotImplemented
    for axis in axes:
        size: Any = input.shape[axis] if -input.dim() <= axis < input.dim() else 1
        if not isinstance(size, torch.SymInt) or not expression(size).is_Symbol:
            continue
        if size.node.has_hint():
            environment.assume(sympy.Ne(expression(size), 1))  # where it is 1, it is no symbol
    return NotImplemented
