"""The largest and the smallest, and where."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 3, 4)
DYNAMIC = ({0: "a", 2: "b"},)
OTHERS = [[torch.randn(1, 3, 1)], [torch.randn(4, 3, 7)]]
DTYPES = [
    torch.float64, torch.float16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
]  # fmt: skip
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "amax": torch.amax,
    "amin": torch.amin,
    "max": torch.max,
    "min": torch.min,
    "argmax": torch.argmax,
    "argmin": torch.argmin,
    "aminmax": lambda x, dim=None, keepdim=False: torch.aminmax(x, dim=dim, keepdim=keepdim),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("opset", [13, 18, 20])
def test_all_dimensions(name: str, opset: int) -> None:
    assert_same(lambda x: FUNCTIONS[name](x + 1), X, dynamic=DYNAMIC, others=OTHERS, opset=opset)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dim", [0, -1])
@pytest.mark.parametrize("keepdim", [False, True])
def test_one_dimension(name: str, dim: int, keepdim: bool) -> None:
    function = FUNCTIONS[name]
    assert_same(
        lambda x: (
            tuple(function(x, dim=dim, keepdim=keepdim))
            if "max" in name[:3] or "min" in name[:3]
            else function(x, dim=dim, keepdim=keepdim)
        ),
        X,
        dynamic=DYNAMIC,
        others=OTHERS,
    )


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(name: str, dtype: torch.dtype) -> None:
    x = torch.tensor([[3, 1, 2], [7, 120, 5]]).to(dtype)
    assert_same(lambda x: FUNCTIONS[name](x, dim=1), x)
    assert_same(FUNCTIONS[name], x, opset=13)


@pytest.mark.parametrize("opset", [13, 20])
def test_truth_values(opset: int) -> None:
    x = torch.tensor([[True, False], [False, False]])
    assert_same(lambda x: (x.amax(1), x.amin(0), x.max(), *x.max(1)), x, opset=opset)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_single_number(name: str) -> None:
    assert_same(lambda x: (FUNCTIONS[name](x), FUNCTIONS[name](x, dim=0)), torch.tensor(1.5))


def test_of_equals_the_first() -> None:
    x = torch.tensor([[2, 5, 5, 1, 1], [7, 7, 7, 7, 7]])
    assert_same(lambda x: (x.argmax(1), x.argmin(1), x.argmax(), *x.max(1), *x.min(1)), x)


def test_lists_of_dimensions() -> None:
    assert_same(lambda x: (x.amax((0, 2)), x.amin((-1, 1), True), x.amax(())), X)


def test_flat_with_kept_dimensions() -> None:
    assert_same(lambda x: torch.argmax(x, keepdim=True), X)
