"""Rounding."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

INFINITY = float("inf")
X = torch.tensor(
    [-2.5, -1.5, -0.5, -0.2, 0.0, 0.5, 1.5, 2.5, 3.7, INFINITY, -INFINITY, float("nan")]
)
FUNCTIONS = {
    "floor": torch.floor,
    "ceil": torch.ceil,
    "trunc": torch.trunc,
    "fix": torch.fix,
    "round": torch.round,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_floats(name: str, dtype: torch.dtype) -> None:
    assert_same(FUNCTIONS[name], X.to(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_integers_stay(name: str) -> None:
    assert_same(FUNCTIONS[name], torch.tensor([-3, 0, 5]))
    assert_same(FUNCTIONS[name], torch.tensor([3, 0, 5], dtype=torch.uint8))


def test_frac() -> None:
    assert_same(torch.frac, X[:-3])


@pytest.mark.parametrize("decimals", [0, 1, 2, -1, -2])
def test_decimals(decimals: int) -> None:
    x = torch.tensor([1.25, -1.35, 1234.5678, 55.0, -0.049])
    assert_same(lambda x: torch.round(x, decimals=decimals), x)


@pytest.mark.parametrize(
    "limits",
    [{}, {"nan": 1.5}, {"posinf": 3.0}, {"neginf": -4.0}, {"nan": 1, "posinf": 2, "neginf": 3}],
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_nan_to_num(limits: dict[str, Any], dtype: torch.dtype) -> None:
    assert_same(lambda x: torch.nan_to_num(x, **limits), X.to(dtype))


def test_nan_to_num_of_integers() -> None:
    assert_same(torch.nan_to_num, torch.tensor([1, 2]))


def test_no_dimensions_and_no_elements() -> None:
    assert_same(lambda x: (x.floor(), x.trunc(), x.round(decimals=1)), torch.tensor(-1.25))
    assert_same(lambda x: (x.floor(), x.trunc(), x.round(decimals=1)), torch.zeros(0, 3))
