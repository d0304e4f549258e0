"""Orthogonal polynomials."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

FAMILIES = [
    "chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v",
    "chebyshev_polynomial_w", "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
    "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w", "hermite_polynomial_h",
    "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p",
]  # fmt: skip
X = torch.tensor([-1.0, -0.6, 0.0, 0.1, 0.9, 1.0, 1.3])


@pytest.mark.parametrize("name", FAMILIES)
def test_every_order(name: str) -> None:
    function = getattr(torch.special, name)
    n = torch.tensor([-1, 0, 1, 2, 3, 8, 20])
    assert_same(lambda x, n: function(x[:, None], n), X, n)
    assert_same(
        lambda x, n: function(x / 2, n),
        X.double(),
        n,
        dynamic="auto",
        others=[[X[:3].double(), n[3:6]]],
    )


@pytest.mark.parametrize("name", FAMILIES)
def test_numbers(name: str) -> None:
    function = getattr(torch.special, name)
    assert_same(lambda x: (function(x, 5), function(0.5, (x * 3).abs()), function(x, 0)), X)
