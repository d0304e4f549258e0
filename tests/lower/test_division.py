"""Division and remainders, with torch's signs."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

A = torch.tensor([-7, -6, -1, 0, 1, 5, 6, 7])
B = torch.tensor([3, -3, 2, -2, 5, -5, 4, 7])
FLOATS = torch.tensor([-7.5, -6.0, -0.0, 0.7, 1.0, 5.5, 1e30, 7.0])
DIVISORS = torch.tensor([2.0, -2.0, 3.0, 0.1, 0.1, -1.3, 7.0, -0.7])

FUNCTIONS = {
    "div": torch.div,
    "true_divide": torch.true_divide,
    "divide": torch.divide,
    "trunc": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "floor": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "floor_divide": torch.floor_divide,
    "remainder": torch.remainder,
    "fmod": torch.fmod,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int8, torch.int16])
def test_integers(name: str, dtype: torch.dtype) -> None:
    assert_same(FUNCTIONS[name], A.to(dtype), B.to(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_floats(name: str, dtype: torch.dtype) -> None:
    # The last quotient is a whole number but for float16's rounding, which the runtime leaves out.
    x, y = FLOATS[:-1].clamp(-1e3, 1e3), DIVISORS[:-1]
    assert_same(FUNCTIONS[name], x.to(dtype), y.to(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("number", [3, -3, 4, 0.1, -0.7, 2.0, -2.0])
@pytest.mark.parametrize("x", [A, FLOATS], ids=["int", "float"])
def test_by_a_number(name: str, number: Any, x: torch.Tensor) -> None:
    assert_same(lambda x: FUNCTIONS[name](x, number), x)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_narrow_integers_at_their_ends(name: str) -> None:
    x = torch.tensor([-128, -127, 127, 100], dtype=torch.int8)
    y = torch.tensor([3, -3, 7, -7], dtype=torch.int8)
    assert_same(FUNCTIONS[name], x, y)
    assert_same(FUNCTIONS[name], torch.tensor([255, 7, 9], dtype=torch.uint8), y[[0, 2, 2]].byte())
    assert_same(FUNCTIONS[name], x, y, opset=13)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_zero_and_infinity(name: str) -> None:
    infinity = float("inf")
    x = torch.tensor([1.0, -1.0, 0.0, infinity, -infinity, 2.0, -2.0, float("nan")])
    y = torch.tensor([0.0, 0.0, 0.0, 2.0, 3.0, infinity, infinity, 1.0])
    assert_same(FUNCTIONS[name], x, y)


@pytest.mark.parametrize("name", ["div", "floor_divide", "remainder", "fmod"])
def test_mixed_dtypes(name: str) -> None:
    assert_same(FUNCTIONS[name], A, DIVISORS)
    assert_same(FUNCTIONS[name], FLOATS, B)
    assert_same(FUNCTIONS[name], A, torch.tensor(2.5, dtype=torch.float64))


def test_number_by_tensor() -> None:
    assert_same(lambda x: (7 / x, 7 // x, 7 % x, torch.remainder(7.5, x)), DIVISORS)
    assert_same(lambda x: (7 / x, 7 // x, 7 % x), B)


def test_sizes() -> None:
    assert_same(
        lambda x: (x / x.shape[0], x // x.shape[0], x % x.shape[1]),
        torch.randn(3, 4) * 10,
        dynamic=({0: "a", 1: "b"},),
        others=[[torch.randn(1, 7)]],
    )


def test_quotient_that_rounds_up() -> None:
    # 1.0 / 0.1 is 10 in floating point, and yet 0.1 fits into 1.0 only nine times.
    assert_same(lambda x: x // 0.1, torch.tensor([1.0, 0.3, 0.6, 2.0], dtype=torch.float64))


def test_constants() -> None:
    def function(x: torch.Tensor) -> Any:
        a, b = torch.tensor([-7.5, 7.5, 5.0]), torch.tensor([2.0, -2.0, 0.0])
        i, j = torch.tensor([-7, 7, 2**60 + 1]), torch.tensor([2, -2, 3])
        floor, trunc = (
            torch.div(i, j, rounding_mode="floor"),
            torch.div(i, j, rounding_mode="trunc"),
        )
        return x + torch.fmod(a, b), torch.remainder(a, 2.0), a / b, floor, trunc, i % j

    assert_same(function, torch.randn(3))
