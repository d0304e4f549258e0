"""Norms."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 3, 4)
ORDERS = [0, 1, 2, 3, 0.5, -1, math.inf, -math.inf]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("dim", [None, 1, (0, 2)])
@pytest.mark.parametrize("opset", [13, 20])
def test_vector_norm(order: float, dim: Any, opset: int) -> None:
    assert_same(
        lambda x: (
            torch.linalg.vector_norm(x, order, dim),
            torch.linalg.vector_norm(x, order, dim, keepdim=True),
        ),
        X,
        dynamic=({0: "a", 2: "b"},),
        others=[[torch.randn(1, 3, 5)]],
        opset=opset,
    )


@pytest.mark.parametrize("p", [1, 2, 3, math.inf, "fro"])
def test_norm(p: Any) -> None:
    assert_same(
        lambda x: (
            torch.norm(x, p),
            torch.norm(x, p, dim=1),
            torch.norm(x, p, dim=-1, keepdim=True),
        ),
        X[0],
    )
    assert_same(lambda x: torch.norm(x, p, dim=1, dtype=torch.float64), X[0])


@pytest.mark.parametrize("order", ["fro", 1, -1, math.inf, -math.inf])
@pytest.mark.parametrize("keepdim", [False, True])
def test_matrix_norm(order: Any, keepdim: bool) -> None:
    assert_same(lambda x: torch.linalg.matrix_norm(x, order, keepdim=keepdim), X)
    assert_same(lambda x: torch.linalg.matrix_norm(x, order, (2, 0), keepdim), X)
    assert_same(lambda x: torch.linalg.norm(x, order, (0, 1), keepdim), X)
    assert_same(lambda x: torch.linalg.norm(x, order), X[0])


def test_linalg_norm_of_vectors() -> None:
    assert_same(
        lambda x: (torch.linalg.norm(x), torch.linalg.norm(x, dim=1), torch.linalg.norm(x, 3, 0)), X
    )
    assert_same(lambda x: torch.linalg.norm(x, 1), X[0, 0])


@pytest.mark.parametrize("order", [2, -2, "nuc"])
def test_norms_of_singular_values_are_left_to_torch_and_svd(order: Any) -> None:
    assert_same(lambda x: torch.linalg.matrix_norm(x, order), X)


def test_single_number() -> None:
    assert_same(
        lambda x: (torch.linalg.vector_norm(x), torch.linalg.vector_norm(x, 0)), torch.tensor(-2.0)
    )


def test_normalize_and_dist() -> None:
    assert_same(lambda x: torch.nn.functional.normalize(x, dim=-1), X)
    assert_same(lambda x, y: (torch.dist(x, y), torch.dist(x, y, 1)), X, X + 1)
    assert_same(lambda x: torch.renorm(x, 2, 0, 1.0), X)
    assert_same(lambda x: (torch.norm_except_dim(x, 2, 0), torch.norm_except_dim(x, 2, 1)), X)


def test_float16() -> None:
    assert_same(lambda x: (torch.linalg.vector_norm(x, 2, -1), torch.norm(x, 1)), (X * 100).half())
