"""`rows.count(k)` and `rows.index(k)`, where only a run of the file knows the numbers that are compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from onnxpert.capture.written.held import NUMBERS, SYMBOLS, Grown

Assume: TypeAlias = Callable[[str, Callable[[], torch.Tensor]], None]
METHODS = frozenset({"count", "index"})


def is_open(held: Any, one: Any) -> bool:
    """Whether Python would compare numbers that are not there."""
    if isinstance(held, Grown):
        return held.number and isinstance(one, NUMBERS)
    if not isinstance(held, (list, tuple)) or not all(isinstance(x, NUMBERS) for x in (*held, one)):
        return False
    return any(isinstance(x, SYMBOLS) for x in (*held, one))


def found(method: str, held: Any, one: Any, assume: Assume) -> Any:
    """What a method gives where the numbers `is_open`."""
    same = _same(held, one)
    if method == "count":
        return same.sum().item()
    assume(f"ValueError: {type(held).__name__}.index(x): x not in it", lambda: ~same.any())
    return same.to(torch.int64).argmax().item()  # the first of them


def _same(held: Any, one: Any) -> torch.Tensor:
    number = _tensor(one)
    if isinstance(held, Grown):
        return held.rows.to(torch.float64) == number
    return torch.stack([_tensor(each) == number for each in held] or [torch.tensor(False)])


def _tensor(number: Any) -> torch.Tensor:
    """As exact as Python's, but for whole numbers of more than 53 bits."""
    return torch.scalar_tensor(number, dtype=torch.float64)
