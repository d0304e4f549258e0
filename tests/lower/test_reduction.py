"""Sums, means, products and counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 3, 4)
OTHERS = [[torch.randn(1, 3, 4)], [torch.randn(5, 3, 1)]]
DYNAMIC = ({0: "a", 2: "b"},)

REDUCTIONS: dict[str, Callable[..., Any]] = {
    "sum": torch.sum,
    "mean": torch.mean,
    "prod": torch.prod,
    "any": lambda x, *a, **k: torch.any(x > 0, *a, **k),
    "all": lambda x, *a, **k: torch.all(x > -1, *a, **k),
    "nansum": torch.nansum,
    "nanmean": torch.nanmean,
}
LISTS = ["sum", "mean", "any", "all", "nansum", "nanmean"]


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("opset", [13, 18, 20])
def test_all_dimensions(name: str, opset: int) -> None:
    assert_same(lambda x: REDUCTIONS[name](x + 1), X, dynamic=DYNAMIC, others=OTHERS, opset=opset)


@pytest.mark.parametrize("name", REDUCTIONS)
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_one_dimension(name: str, dim: int, keepdim: bool) -> None:
    function = REDUCTIONS[name]
    assert_same(lambda x: function(x, dim, keepdim=keepdim), X, dynamic=DYNAMIC, others=OTHERS)


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("dim", [(0, 2), (-1, 0), (0, 1, 2)])
@pytest.mark.parametrize("keepdim", [False, True])
def test_several_dimensions(name: str, dim: tuple[int, ...], keepdim: bool) -> None:
    function = REDUCTIONS[name]
    assert_same(lambda x: function(x, dim, keepdim=keepdim), X, opset=17)


@pytest.mark.parametrize("name", ["sum", "any", "all"])
def test_no_dimensions_named(name: str) -> None:
    assert_same(lambda x: REDUCTIONS[name](x, ()), X)


@pytest.mark.parametrize("name", REDUCTIONS)
def test_single_number(name: str) -> None:
    assert_same(lambda x: (REDUCTIONS[name](x), REDUCTIONS[name](x, -1)), torch.tensor(1.5))


@pytest.mark.parametrize("name", REDUCTIONS)
def test_nothing(name: str) -> None:
    assert_same(lambda x: (REDUCTIONS[name](x, 0), REDUCTIONS[name](x, 1)), torch.zeros(0, 3))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float16, torch.int32, torch.uint8, torch.bool]
)
def test_dtypes(dtype: torch.dtype) -> None:
    x = torch.tensor([[0, 1, 5], [3, 2, 1]]).to(dtype)
    assert_same(
        lambda x: (x.sum(), x.sum(0), x.prod(1), x.any(), x.all(1), x.sum(0, dtype=torch.float32)),
        x,
    )
    assert_same(
        lambda x: (
            x.mean(0, dtype=torch.float32),
            x.prod(dtype=torch.int64),
            torch.count_nonzero(x),
        ),
        x,
    )


def test_count_nonzero() -> None:
    x = torch.tensor([[0.0, 1.0, 5.0], [0.0, float("nan"), 0.0]])
    assert_same(
        lambda x: (
            torch.count_nonzero(x),
            torch.count_nonzero(x, 1),
            torch.count_nonzero(x, (0, 1)),
        ),
        x,
    )


def test_nan_is_left_out() -> None:
    x = torch.tensor([[1.0, float("nan"), 3.0], [float("nan")] * 3])
    assert_same(lambda x: (x.nansum(), x.nansum(1), x.nanmean(), x.nanmean(1), x.sum()), x)


def test_any_of_uint8_is_uint8() -> None:
    x = torch.tensor([[0, 4], [0, 0]], dtype=torch.uint8)
    assert_same(lambda x: (x.any(), x.any(1), x.all(0)), x)


@pytest.mark.parametrize("opset", [13, 20])
def test_logsumexp(opset: int) -> None:
    infinity = float("inf")
    x = torch.tensor([[1000.0, 1000.0], [-1000.0, 0.0], [-infinity, -infinity], [infinity, 1.0]])
    assert_same(lambda x: (torch.logsumexp(x, 1), torch.logsumexp(x, (0, 1), True)), x, opset=opset)
    assert_same(lambda x: torch.logsumexp(x, -1, True), X.double(), opset=opset)
    assert_same(lambda x: torch.logsumexp(x, 0), torch.tensor([1, 2, 3]))


def test_sum_to_size() -> None:
    assert_same(lambda x: (x.sum_to_size(3, 1), x.sum_to_size(1, 1, 4), x.sum_to_size(2, 3, 4)), X)


def test_sums_of_hashes_wrap() -> None:
    numbers = torch.tensor([[10**9, 7, -3], [2**40, -(2**50), 5]])
    factors = torch.tensor([6364136223846793005, 1442695040888963407, 31])
    assert_same(lambda x: (x * factors + 1).sum(-1), numbers, dynamic="auto")
    assert_same(lambda x: (x * factors).sum(), numbers)


def test_the_mean_of_what_may_be_nothing() -> None:
    others = [[torch.randn(1, 3, 4)], [torch.randn(1, 4, 4)], [torch.randn(2, 9, 4)]]
    assert_same(
        lambda x: (x[:, 3:].mean(1), x[:, : x.shape[1] // 4].half().mean((1, 2), keepdim=True)),
        torch.randn(2, 8, 4),
        dynamic=({0: "a", 1: "b"},),
        others=others,
    )
    assert_same(lambda x: x[x > 0].mean(), torch.randn(6), others=[[-torch.ones(6)]])
