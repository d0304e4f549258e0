"""Comparisons, tests for NaN and infinities, the larger and smaller of two, clamping."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

INFINITY, NAN = math.inf, math.nan
X = torch.tensor([-INFINITY, -2.0, -0.0, 0.5, 1.0, 3.0, INFINITY, NAN])
Y = torch.tensor([1.0, -2.0, 0.0, NAN, 2.0, 2.5, INFINITY, NAN])
COMPARISONS = {
    "eq": torch.eq,
    "ne": torch.ne,
    "lt": torch.lt,
    "le": torch.le,
    "gt": torch.gt,
    "ge": torch.ge,
    "less": torch.less,
    "greater_equal": torch.greater_equal,
    "not_equal": torch.not_equal,
}


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_floats(name: str, dtype: torch.dtype) -> None:
    assert_same(COMPARISONS[name], X.to(dtype), Y.to(dtype))


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool]
)
def test_integers(name: str, dtype: torch.dtype) -> None:
    x, y = torch.tensor([0, 1, 5]).to(dtype), torch.tensor([0, 0, 7]).to(dtype)
    assert_same(COMPARISONS[name], x, y)
    assert_same(lambda x: COMPARISONS[name](x, 1), x)


@pytest.mark.parametrize("name", COMPARISONS)
@pytest.mark.parametrize("opset", [13, 16, 20])
def test_mixed_dtypes(name: str, opset: int) -> None:
    x = torch.tensor([0, 1, 2])
    assert_same(lambda x: COMPARISONS[name](x, 0.5), x, opset=opset)
    assert_same(COMPARISONS[name], x, torch.tensor([0.0, 1.5, 1.0]), opset=opset)
    assert_same(COMPARISONS[name], x, torch.tensor(1, dtype=torch.int8), opset=opset)


TESTS = {
    "isnan": torch.isnan,
    "isinf": torch.isinf,
    "isfinite": torch.isfinite,
    "isposinf": torch.isposinf,
    "isneginf": torch.isneginf,
    "isreal": torch.isreal,
}


@pytest.mark.parametrize("name", TESTS)
@pytest.mark.parametrize("opset", [13, 20])
def test_numbers_that_are_none(name: str, opset: int) -> None:
    for dtype in (torch.float32, torch.float64, torch.float16):
        assert_same(TESTS[name], X.to(dtype), opset=opset)
    assert_same(
        TESTS[name], torch.ones(2, 3).int(), dynamic="auto", others=[[torch.ones(4, 1).int()]]
    )


@pytest.mark.parametrize("equal_nan", [False, True])
def test_isclose(equal_nan: bool) -> None:
    x = torch.tensor([1.0, 1.0, NAN, INFINITY, INFINITY, 0.0])
    y = torch.tensor([1.0 + 1e-6, 1.1, NAN, INFINITY, 1.0, 1e-9])
    assert_same(lambda x, y: torch.isclose(x, y, equal_nan=equal_nan), x, y)
    assert_same(
        lambda x, y: torch.isclose(x, y, rtol=0.5, atol=0.1),
        torch.tensor([1, 5]),
        torch.tensor([2, 2]),
    )
    assert_same(lambda x, y: torch.isclose(x, y, rtol=0.0, atol=0.0), x, y)


EXTREMES: dict[str, Callable[..., Any]] = {
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "fmax": torch.fmax,
    "fmin": torch.fmin,
    "max": torch.max,
    "min": torch.min,
}


@pytest.mark.parametrize("name", EXTREMES)
def test_extremes(name: str) -> None:
    for dtype in (torch.float32, torch.float64, torch.float16):
        assert_same(EXTREMES[name], X.to(dtype), Y.to(dtype))
    for dtype in (torch.int64, torch.int16, torch.uint8, torch.bool):
        x, y = torch.tensor([0, 1, 5]).to(dtype), torch.tensor([1, 0, 7]).to(dtype)
        assert_same(EXTREMES[name], x, y)
    assert_same(EXTREMES[name], torch.tensor([1, 2]), torch.tensor([1.5, 0.5]))


BOUNDS: list[tuple[Any, Any]] = [(0, 1), (None, 1.5), (-0.5, None), (2, 1), (-1.5, 0.5)]


@pytest.mark.parametrize("bounds", BOUNDS)
@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.int64, torch.int16]
)
def test_clamp_to_numbers(bounds: tuple[Any, Any], dtype: torch.dtype) -> None:
    x = X if dtype.is_floating_point else torch.tensor([-3, 0, 1, 2])
    assert_same(lambda x: torch.clamp(x, *bounds), x.to(dtype))
    assert_same(lambda x: torch.clip(x, min=bounds[0], max=bounds[1]), x.to(dtype))


def test_clamp_to_tensors() -> None:
    x, low, high = torch.randn(3, 4), torch.full((4,), -0.5), torch.rand(3, 1)
    assert_same(torch.clamp, x, low, high)
    assert_same(lambda x, a: torch.clamp(x, min=a), x, low)
    assert_same(lambda x, b: torch.clamp(x, max=b), x, torch.tensor(0.25))
    assert_same(lambda x, a: torch.clamp(x, min=a), torch.tensor([1, 5]), torch.tensor([2.5, 2.5]))


def test_clamp_one_side() -> None:
    aten = torch.ops.aten
    assert_same(lambda x: (x.clamp_min(0), x.clamp_max(1), x.clamp_min(0.5)), X)
    assert_same(
        lambda x, y: (aten.clamp_min.Tensor(x, y), aten.clamp_max.Tensor(x, y)), X[:3], Y[:3]
    )
    assert_same(
        lambda x: x.clamp(max=x.shape[0]),
        torch.arange(6),
        dynamic=({0: "n"},),
        others=[[torch.arange(3) * 3]],
    )


def test_heaviside() -> None:
    assert_same(torch.heaviside, X, torch.full((8,), 0.5))
    assert_same(torch.heaviside, torch.tensor([-1, 0, 2]), torch.tensor([7, 7, 7]))
