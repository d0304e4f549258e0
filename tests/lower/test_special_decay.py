"""Modified Bessel functions of the second kind and Airy's function, beside torch's own."""

from __future__ import annotations

import math

import pytest
import torch

from tests.lower.same import assert_same

FUNCTIONS = [
    "modified_bessel_k0",
    "modified_bessel_k1",
    "scaled_modified_bessel_k0",
    "scaled_modified_bessel_k1",
]
EDGES = [0.0, 1e-20, 2.0, -1.0, 700.0, 1e5, math.inf, -math.inf, math.nan]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_everywhere(name: str, dtype: torch.dtype) -> None:
    x = torch.cat([torch.linspace(0, 20, 201), torch.tensor(EDGES)]).to(dtype)
    assert_same(getattr(torch.special, name), x, dynamic="auto")


@pytest.mark.parametrize("name", [*FUNCTIONS, "airy_ai"])
def test_of_whole_numbers_and_of_none(name: str) -> None:
    assert_same(getattr(torch.special, name), torch.arange(-3, 12))
    assert_same(getattr(torch.special, name), torch.tensor(2.5))
    assert_same(getattr(torch.special, name), torch.empty(0, 3))


def test_airy() -> None:
    x = torch.cat([torch.linspace(-20, 20, 401), torch.tensor([3.0, -3.0, 110.0, math.nan])])
    assert_same(torch.special.airy_ai, x, dynamic="auto")
    # Below -2 torch's own are good to six digits only.
    assert_same(torch.special.airy_ai, torch.linspace(-2, 20, 101, dtype=torch.float64))


def test_nan_stays_nan() -> None:
    x = torch.tensor([float("nan"), 1.0, -1.0, 0.0])
    assert_same(
        lambda x: (torch.special.modified_bessel_k0(x), torch.special.modified_bessel_k1(x)), x
    )
