"""Bessel functions of the first and second kind, beside torch's own and beside exact values."""

from __future__ import annotations

import math

import pytest
import torch

from tests.lower.same import assert_same

FUNCTIONS = ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1"]
EDGES = [0.0, -0.0, 1e-20, 8.0, -8.0, 1e3, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_everywhere(name: str) -> None:
    x = torch.cat([torch.linspace(-30, 30, 401), torch.tensor(EDGES)])
    assert_same(getattr(torch.special, name), x, dynamic="auto")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_in_double(name: str) -> None:
    # Beyond 5 torch's own are good to seven digits only.
    assert_same(getattr(torch.special, name), torch.linspace(0, 5, 101, dtype=torch.float64))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_of_whole_numbers_and_of_none(name: str) -> None:
    assert_same(getattr(torch.special, name), torch.arange(-3, 12))
    assert_same(getattr(torch.special, name), torch.tensor(2.5))
    assert_same(getattr(torch.special, name), torch.empty(0, 3))
