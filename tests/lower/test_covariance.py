"""Covariances with and without weights, and correlations."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(3, 6)
OFTEN, WEIGHT = torch.tensor([1, 2, 0, 3, 1, 1]), torch.rand(6)


@pytest.mark.parametrize("correction", [0, 1, 2])
@pytest.mark.parametrize("x", [X, X[0], X[:1], X.long()], ids=["matrix", "vector", "row", "whole"])
def test_cov(x: torch.Tensor, correction: int) -> None:
    assert_same(lambda x: torch.cov(x, correction=correction), x)
    assert_same(
        lambda x, f, a: torch.cov(x, correction=correction, fweights=f, aweights=a),
        x,
        OFTEN,
        WEIGHT,
    )


def test_at_other_sizes() -> None:
    assert_same(
        lambda x: torch.cov(x, correction=1), X, dynamic=({1: "n"},), others=[[torch.randn(3, 2)]]
    )
    assert_same(
        lambda x: torch.cov(x, correction=1), X, dynamic=({0: "n"},), others=[[torch.randn(5, 6)]]
    )


@pytest.mark.parametrize("x", [X, X[0]])
def test_corrcoef(x: torch.Tensor) -> None:
    assert_same(torch.corrcoef, x)
    assert_same(torch.corrcoef, torch.zeros_like(x))
