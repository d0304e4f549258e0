"""Distances."""

import math

import pytest
import torch
import torch.nn.functional as F

from tests.lower.same import assert_same

POWERS = [0.0, 0.5, 1.0, 2.0, 3.0, math.inf]


@pytest.mark.parametrize("p", POWERS)
def test_cdist(p: float) -> None:
    assert_same(lambda a, b: torch.cdist(a, b, p), torch.randn(4, 3), torch.randn(5, 3))
    assert_same(lambda a, b: torch.cdist(a, b, p), torch.randn(2, 4, 3), torch.randn(2, 5, 3))
    assert_same(lambda a, b: torch.cdist(a, b, p), torch.randn(2, 1, 4, 3), torch.randn(6, 5, 3))


@pytest.mark.parametrize(
    "mode",
    [
        "use_mm_for_euclid_dist_if_necessary",
        "use_mm_for_euclid_dist",
        "donot_use_mm_for_euclid_dist",
    ],
)
def test_cdist_by_products(mode: str) -> None:
    assert_same(
        lambda a, b: torch.cdist(a, b, compute_mode=mode), torch.randn(30, 3), torch.randn(5, 3)
    )


def test_cdist_of_near_rows_is_exact() -> None:
    x = torch.randn(6, 3)
    assert_same(torch.cdist, x, x + 1e-6)


@pytest.mark.parametrize("p", [1.0, 2.0])
def test_cdist_at_other_sizes(p: float) -> None:
    assert_same(
        lambda a, b: torch.cdist(a, b, p),
        torch.randn(30, 3),
        torch.randn(40, 3),
        dynamic=({0: "rows"}, {0: "others"}),
        others=[[torch.randn(35, 3), torch.randn(27, 3)]],
    )


@pytest.mark.parametrize("p", POWERS)
def test_pdist(p: float) -> None:
    assert_same(lambda a: F.pdist(a, p), torch.randn(5, 3))


@pytest.mark.parametrize("p", POWERS)
def test_pairwise_distance(p: float) -> None:
    assert_same(lambda a, b: F.pairwise_distance(a, b, p), torch.randn(4, 5), torch.randn(4, 5))


@pytest.mark.parametrize("dim", [0, 1, -1])
def test_cosine_similarity(dim: int) -> None:
    assert_same(
        lambda a, b: F.cosine_similarity(a, b, dim), torch.randn(3, 4, 5), torch.randn(4, 5)
    )
    assert_same(F.cosine_similarity, torch.zeros(2, 3), torch.randn(2, 3))
