"""The incomplete gamma functions, beside torch's own."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

FUNCTIONS = [torch.special.gammainc, torch.special.gammaincc]
ORDERS = [1e-3, 0.5, 1.0, 2.5, 10.0, 30.0, 120.0, 1e3]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_everywhere(function: Callable[..., Any], dtype: torch.dtype) -> None:
    a = torch.tensor(ORDERS, dtype=dtype).unsqueeze(1)
    share = torch.tensor([1e-3, 0.3, 0.9, 0.99, 1.0, 1.01, 1.1, 2.0, 5.0], dtype=dtype)
    assert_same(function, a, a * share)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_edges(function: Callable[..., Any]) -> None:
    edges = torch.tensor([0.0, 1.0, -1.0, math.inf, math.nan])
    assert_same(function, edges.unsqueeze(1), edges)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_sizes_that_vary(function: Callable[..., Any]) -> None:
    other = [torch.rand(9) * 5, torch.rand(9) * 5]
    a, x = torch.rand(4) * 5, torch.rand(4) * 5
    assert_same(function, a, x, dynamic="auto", others=[other])
    assert_same(function, torch.empty(0), torch.empty(0))
    assert_same(function, torch.tensor(2.0), torch.tensor(1.5))
