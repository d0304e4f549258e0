"""Trigonometric and hyperbolic functions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

INFINITY, NAN = math.inf, math.nan
FUNCTIONS: dict[str, tuple[Callable[..., Any], torch.Tensor]] = {
    "sin": (torch.sin, torch.linspace(-7, 7, 9)),
    "cos": (torch.cos, torch.linspace(-7, 7, 9)),
    "tan": (torch.tan, torch.linspace(-1.5, 1.5, 9)),
    "asin": (torch.asin, torch.linspace(-1, 1, 9)),
    "acos": (torch.acos, torch.linspace(-1, 1, 9)),
    "atan": (
        torch.atan,
        torch.tensor([-INFINITY, -1e10, -2.0, -1e-4, 0.0, 0.5, 1.0, 1e5, INFINITY]),
    ),
    "sinh": (torch.sinh, torch.tensor([-5.0, -1.0, -1e-5, 0.0, 1e-3, 2.0, 9.0])),
    "cosh": (torch.cosh, torch.tensor([-5.0, -1.0, -1e-5, 0.0, 1e-3, 2.0, 9.0])),
    "tanh": (torch.tanh, torch.tensor([-50.0, -1.0, -1e-5, 0.0, 1e-3, 2.0, 90.0])),
    "asinh": (torch.asinh, torch.tensor([-1e4, -1.0, -1e-4, 0.0, 1e-4, 0.5, 60.0, 1e4])),
    "acosh": (torch.acosh, torch.tensor([1.0, 1.001, 1.5, 20.0, 1e4])),
    "atanh": (torch.atanh, torch.tensor([-1.0, -0.99, -0.5, -1e-4, 0.0, 1e-4, 0.3, 0.999, 1.0])),
    "sinc": (torch.sinc, torch.tensor([-2.5, -1e-3, 0.0, 0.5, 3.2])),
    "deg2rad": (torch.deg2rad, torch.linspace(-360, 360, 5)),
    "rad2deg": (torch.rad2deg, torch.linspace(-7, 7, 5)),
    "arcsin": (torch.arcsin, torch.linspace(-1, 1, 5)),
    "arccosh": (torch.arccosh, torch.linspace(1, 3, 5)),
    "angle": (torch.angle, torch.tensor([-1.0, 0.0, 2.0, NAN])),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_floats(name: str, dtype: torch.dtype) -> None:
    function, x = FUNCTIONS[name]
    assert_same(function, x.to(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nan_and_integers(name: str) -> None:
    function, _ = FUNCTIONS[name]
    assert_same(function, torch.tensor([NAN, 1.0], dtype=torch.float64))
    assert_same(function, torch.tensor([1, 1]))


@pytest.mark.parametrize("name", ["asin", "acos", "acosh", "atanh"])
def test_out_of_range(name: str) -> None:
    x = torch.tensor([-3.0, 4.0] if name != "acosh" else [-3.0, 0.5], dtype=torch.float64)
    assert_same(FUNCTIONS[name][0], x)


def test_large_arguments_of_the_inverse_hyperbolic_functions() -> None:
    x = torch.tensor([1e9, 1e200, INFINITY], dtype=torch.float64)
    assert_same(lambda x: (torch.asinh(x), torch.acosh(x), torch.asinh(-x)), x)


POINTS = [0.0, -0.0, 1.0, -1.0, 2.5, INFINITY, -INFINITY]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_atan2_in_every_direction(dtype: torch.dtype) -> None:
    y, x = torch.meshgrid(torch.tensor(POINTS), torch.tensor(POINTS), indexing="ij")
    assert_same(torch.atan2, y.contiguous().to(dtype), x.contiguous().to(dtype))
    assert_same(torch.atan2, torch.tensor([NAN, 0.0, 1.0]), torch.tensor([1.0, NAN, NAN]))


def test_atan2_of_integers() -> None:
    assert_same(torch.atan2, torch.tensor([1, -1, 0]), torch.tensor([0, -3, -2]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_hypot(dtype: torch.dtype) -> None:
    x = torch.tensor([3.0, 0.0, 1e30, INFINITY], dtype=dtype)
    y = torch.tensor([4.0, 0.0, 1e30, 1.0], dtype=dtype)
    assert_same(torch.hypot, x, y)


def test_hypot_that_would_overflow() -> None:
    x = torch.tensor([1e300, 1e-300], dtype=torch.float64)
    assert_same(torch.hypot, x, x)


def test_sign_bits() -> None:
    x = torch.tensor([0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, 1e-42, -1e-42])
    assert_same(torch.signbit, x)
    assert_same(torch.copysign, torch.full((8,), 3.0), x)
    assert_same(lambda x: (torch.copysign(x, -1), torch.copysign(x, 2.0)), x)
    assert_same(torch.signbit, torch.tensor([1, 0, -1]))
    assert_same(torch.signbit, torch.tensor([1, 0], dtype=torch.uint8))
    assert_same(torch.copysign, torch.tensor([1, 2]), torch.tensor([-1, 1]))


def test_spherical_bessel() -> None:
    x = torch.tensor([-3.0, 1e-3, 0.0, 0.5, INFINITY])
    assert_same(torch.special.spherical_bessel_j0, x)
    assert_same(torch.special.spherical_bessel_j0, x.double())
