"""Systems of complex equations, and running products of complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same


def _random(*sizes: int) -> torch.Tensor:
    return torch.randn(*sizes, dtype=torch.complex64, generator=torch.Generator().manual_seed(1))


SYSTEMS: dict[str, tuple[Callable[..., Any], tuple[torch.Tensor, ...]]] = {
    "inverse": (torch.linalg.inv, (_random(2, 3, 3),)),
    "inverse with info": (torch.linalg.inv_ex, (_random(4, 4),)),
    "a matrix": (torch.linalg.solve, (_random(3, 3), _random(3, 2))),
    "a vector for each": (torch.linalg.solve, (_random(2, 3, 3), _random(2, 3))),
    "from the right": (
        lambda a, b: torch.linalg.solve(a, b, left=False),
        (_random(3, 3), _random(2, 3)),
    ),
    "real on one side": (
        lambda a, b: torch.linalg.solve(a, b.real.to(a.dtype)),
        (_random(3, 3), _random(3, 1)),
    ),
}


@pytest.mark.parametrize("name", SYSTEMS)
def test_systems(name: str) -> None:
    function, given = SYSTEMS[name]
    assert_same(function, *given)
    assert_same(function, *given, opset=13)


@pytest.mark.parametrize("dim", [0, -1])
def test_running_products(dim: int) -> None:
    assert_same(lambda x: x.cumprod(dim), _random(3, 4), dynamic="auto")
