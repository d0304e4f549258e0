"""Running sums, products, maxima and minima; differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 5, 3)
DYNAMIC = ({0: "a", 1: "n"},)
OTHERS = [[torch.randn(1, 1, 3)], [torch.randn(3, 9, 3)]]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cumsum": torch.cumsum,
    "cumprod": torch.cumprod,
    "logcumsumexp": torch.logcumsumexp,
    "cummax": torch.cummax,
    "cummin": torch.cummin,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dim", [0, 1, -1])
@pytest.mark.parametrize("opset", [13, 20])
def test_dimensions(name: str, dim: int, opset: int) -> None:
    assert_same(lambda x: FUNCTIONS[name](x, dim), X, dynamic=DYNAMIC, others=OTHERS, opset=opset)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vectors_numbers_and_nothing(name: str) -> None:
    assert_same(lambda x: FUNCTIONS[name](x, 0), torch.randn(6))
    assert_same(lambda x: FUNCTIONS[name](x, 0), torch.tensor(1.5))
    assert_same(lambda x: (FUNCTIONS[name](x, 0), FUNCTIONS[name](x, 1)), torch.zeros(0, 3))


@pytest.mark.parametrize("name", ["cumsum", "cumprod", "cummax", "cummin"])
@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.int32, torch.uint8, torch.float64, torch.float16]
)
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    assert_same(lambda x: FUNCTIONS[name](x, 0), torch.tensor([3, 1, 3, 2, 5]).to(dtype))


def test_truth_values() -> None:
    x = torch.tensor([False, True, False, True])
    assert_same(lambda x: (x.cumsum(0), x.cumprod(0), *x.cummax(0), *x.cummin(0)), x)


def test_dtype_asked_for() -> None:
    x = torch.tensor([200, 100, 50])
    assert_same(lambda x: (x.cumsum(0, dtype=torch.float32), x.cumprod(0, dtype=torch.int32)), x)


def test_signs_and_zeros_of_products() -> None:
    assert_same(lambda x: torch.cumprod(x, 0), torch.tensor([2.0, -3.0, -0.5, 0.0, 4.0]))


def test_nan_and_ties_of_extremes() -> None:
    nan = float("nan")
    x = torch.tensor(
        [[1.0, 3.0, 3.0, nan, 5.0], [nan, 1.0, nan, 0.0, 2.0], [2.0, 2.0, 1.0, 1.0, 2.0]]
    )
    assert_same(lambda x: (*x.cummax(1), *x.cummin(1)), x)


def test_logcumsumexp_of_infinities() -> None:
    infinity = float("inf")
    x = torch.tensor([-infinity, -infinity, 1.0, 500.0, -500.0, infinity])
    assert_same(lambda x: torch.logcumsumexp(x, 0), x)


@pytest.mark.parametrize("n", [0, 1, 2])
@pytest.mark.parametrize("dim", [1, -1])
def test_diff(n: int, dim: int) -> None:
    assert_same(
        lambda x: torch.diff(x, n, dim),
        X,
        dynamic=DYNAMIC,
        others=[[torch.randn(1, 4, 3)]],
    )


def test_diff_with_neighbours() -> None:
    assert_same(
        lambda x, y: torch.diff(x, prepend=y, append=y), torch.randn(2, 4), torch.randn(2, 1)
    )
    assert_same(lambda x, y: torch.diff(x, 0, prepend=y), torch.randn(2, 4), torch.randn(2, 1))
    assert_same(torch.diff, torch.tensor([True, False, False]))
    assert_same(torch.diff, torch.tensor([5, 3, 200], dtype=torch.uint8))


def test_more_differences_than_there_are_values() -> None:
    assert_same(lambda x: torch.diff(x, n=9), torch.randn(2, 4))


def test_nothing_to_run_along_does_not_kill_the_runtime() -> None:
    assert_same(
        lambda x: x.cumprod(-1),
        torch.randn(3, 4, 5),
        dynamic="auto",
        others=[(torch.ones(2, 0, 3),)],
    )
