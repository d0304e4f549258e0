"""Variance and standard deviation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 3, 4) * 3 + 10
DYNAMIC = ({0: "a", 2: "b"},)
OTHERS = [[torch.randn(1, 3, 6)], [torch.randn(5, 3, 2)]]
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "var": torch.var,
    "std": torch.std,
    "var_mean": torch.var_mean,
    "std_mean": torch.std_mean,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("keepdim", [False, True])
@pytest.mark.parametrize("dim", [None, -1, (0, 2)])
def test_dimensions(name: str, keepdim: bool, dim: Any) -> None:
    assert_same(
        lambda x: FUNCTIONS[name](x, dim=dim, keepdim=keepdim), X, dynamic=DYNAMIC, others=OTHERS
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("correction", [0, 1, 2, 0.5])
@pytest.mark.parametrize("opset", [13, 20])
def test_correction(name: str, correction: float, opset: int) -> None:
    function = FUNCTIONS[name]
    assert_same(lambda x: function(x, 1, correction=correction), X, opset=opset)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("unbiased", [False, True])
def test_unbiased(name: str, unbiased: bool) -> None:
    function = FUNCTIONS[name]
    assert_same(lambda x: function(x, unbiased), X)
    assert_same(lambda x: function(x, 1, unbiased, True), X.double())


@pytest.mark.filterwarnings("ignore:.*degrees of freedom is <= 0")
def test_of_one_there_is_no_variance() -> None:
    assert_same(lambda x: (x.var(1), x.std(1, unbiased=False), x.var(0)), torch.randn(3, 1))
    assert_same(lambda x: (x.var(), x.var(unbiased=False)), torch.tensor(2.0))


def test_float16_sums_do_not_overflow() -> None:
    assert_same(lambda x: (x.var(), x.std(1)), (torch.randn(4, 256) * 100).half())


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.uint8])
@pytest.mark.parametrize("weights", [None, torch.float32])
def test_cov_in_the_dtype_of_its_weights(dtype: torch.dtype, weights: torch.dtype | None) -> None:
    x = torch.tensor([[1, 2, 4, 3], [5, 1, 0, 2]]).to(dtype)
    share = None if weights is None else torch.tensor([0.5, 1.0, 0.25, 2.0], dtype=weights)
    assert_same(lambda a: torch.cov(a, aweights=share), x)
