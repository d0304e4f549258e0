"""Results written into tensors that are given, with sizes that vary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.lower.same import assert_same


def largest(x: Tensor) -> Any:
    values, places = torch.empty(0), torch.empty(0, dtype=torch.long)
    torch.topk(x, 2, dim=1, out=(values, places))
    return values, places


def in_order(x: Tensor) -> Any:
    values, places = torch.empty_like(x), torch.empty(x.shape[0], 4, dtype=torch.long)
    torch.sort(x, 1, out=(values, places))
    return values, places


def over_rows(x: Tensor) -> Any:
    return torch.max(x, 0, out=(torch.empty(4), torch.empty(4, dtype=torch.long)))


@pytest.mark.parametrize("function", [largest, in_order, over_rows])
def test_two_at_once(function: Callable[[Tensor], Any]) -> None:
    torch.manual_seed(0)
    others = [(torch.randn(size, 4),) for size in (1, 7)]
    assert_same(function, torch.randn(5, 4), dynamic=({0: "n"},), others=others)
