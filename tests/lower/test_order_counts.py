"""The commonest element, numbers of whole numbers and histograms, beside torch's own."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.lower.same import assert_same


@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("keepdim", [True, False])
@pytest.mark.parametrize("dtype", [torch.float32, torch.int64, torch.uint8])
def test_mode(dim: int, keepdim: bool, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    x = torch.randint(0, 4, (5, 6, 3)).to(dtype)
    assert_same(lambda x: torch.mode(x, dim, keepdim), x, dynamic="auto")


def test_mode_of_few() -> None:
    assert_same(torch.mode, torch.tensor(3.0))
    assert_same(torch.mode, torch.tensor([True, False, True]))
    assert_same(torch.mode, torch.tensor([[7], [2]]))


@pytest.mark.parametrize("least", [0, 12])
def test_bincount(least: int) -> None:
    x = torch.tensor([1, 4, 4, 0, 7])
    others = [[torch.tensor([2, 2, 30])], [torch.tensor([0])]]
    dynamic = ({0: torch.export.Dim("n")},)
    assert_same(lambda x: torch.bincount(x, minlength=least), x, dynamic=dynamic, others=others)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int32])
def test_bincount_of_weights(dtype: torch.dtype) -> None:
    weights = torch.tensor([1, 2, 3, 4, 5]).to(dtype)
    assert_same(torch.bincount, torch.tensor([1, 4, 4, 0, 7], dtype=torch.int32), weights)


@pytest.mark.parametrize(
    "options",
    [{}, {"density": True}, {"range": (-1.0, 1.0)}, {"range": (2.0, 2.0)}],
    ids=["plain", "density", "range", "point"],
)
@pytest.mark.parametrize("bins", [1, 7])
def test_histogram(bins: int, options: dict[str, Any]) -> None:
    torch.manual_seed(3)
    assert_same(lambda x: torch.histogram(x, bins, **options), torch.randn(4, 9))


def test_histogram_of_weights_between_given_bounds() -> None:
    torch.manual_seed(4)
    x, weight = torch.randn(20), torch.rand(20)
    edges = torch.tensor([-1.0, -0.5, 0.25, 1.5])
    assert_same(lambda x, w: torch.histogram(x, edges, weight=w, density=True), x, weight)
    assert_same(lambda x: torch.histogram(x, edges), torch.tensor([-1.0, 1.5, 1.6, 0.25]))


def test_histogram_of_one_value() -> None:
    assert_same(lambda x: torch.histogram(x, 3), torch.full((5,), 2.0))


def test_histogram_of_several_dimensions() -> None:
    torch.manual_seed(5)
    x = torch.randn(30, 2)
    assert_same(lambda x: torch.histogramdd(x, bins=[3, 4]), x)
    assert_same(
        lambda x: torch.histogramdd(x, [3, 2], range=[-1.0, 1.0, 0.0, 2.0], density=True), x
    )


@pytest.mark.parametrize("limits", [(0, 0), (-1, 1), (3, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_histc_between_limits_and_over_the_range_of_the_values(
    limits: tuple[int, int], dtype: torch.dtype
) -> None:
    torch.manual_seed(0)
    assert_same(
        lambda x: torch.histc(x, 7, *limits),
        torch.randn(4, 50, dtype=dtype),
        dynamic=({0: "rows"},),
        others=[[torch.full((2, 50), 1.5, dtype=dtype)], [torch.randn(1, 50, dtype=dtype)]],
    )
    assert_same(lambda x: torch.histc(x, 7, *limits), torch.randn(0, dtype=dtype))
