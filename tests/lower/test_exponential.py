"""Powers, roots, exponentials and logarithms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx_ir as ir
import onnxruntime
import pytest
import torch

from tests.lower.same import assert_same, lowered

INFINITY, NAN = float("inf"), float("nan")
POSITIVE = torch.tensor([1e-6, 0.1, 0.5, 1.0, 2.0, 8.0, 100.0, 1e6])
REAL = torch.tensor([-3.0, -0.5, -1e-3, 0.0, 1e-3, 0.7, 1.0, 5.0])

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "sqrt": torch.sqrt,
    "rsqrt": torch.rsqrt,
    "exp": torch.exp,
    "exp2": torch.exp2,
    "expm1": torch.expm1,
    "log": torch.log,
    "log2": torch.log2,
    "log10": torch.log10,
    "log1p": torch.log1p,
    "entr": torch.special.entr,
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_floats(name: str, dtype: torch.dtype) -> None:
    x = REAL if name.startswith("exp") else POSITIVE.clamp(max=1e4)
    assert_same(FUNCTIONS[name], x.to(dtype))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_integers_become_floats(name: str) -> None:
    assert_same(FUNCTIONS[name], torch.tensor([1, 2, 10]))
    assert_same(FUNCTIONS[name], torch.tensor([True, False]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_ends(name: str) -> None:
    assert_same(FUNCTIONS[name], torch.tensor([INFINITY, -INFINITY, NAN, 0.0, -1.0, -2.0]))


def _relative_error(function: Callable[..., Any], x: torch.Tensor) -> float:
    session = onnxruntime.InferenceSession(
        ir.to_proto(lowered(function, (x,)).model).SerializeToString()
    )
    (got,) = session.run(None, {session.get_inputs()[0].name: x.numpy()})
    want = function(x).numpy()
    return float(np.max(np.abs((got - want) / want)))


@pytest.mark.parametrize("function", [torch.log1p, torch.expm1])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_every_digit_near_zero(function: Callable[..., Any], dtype: torch.dtype) -> None:
    x = torch.tensor([1e-12, -1e-9, 3e-7, -2e-5, 1e-3, -0.1, 0.3, 0.9], dtype=dtype)
    assert _relative_error(function, x) < 8 * torch.finfo(dtype).eps


def test_log2_of_powers_of_two_is_whole() -> None:
    x = 2.0 ** torch.arange(-20, 21)
    assert_same(lambda x: torch.floor(torch.log2(x)), x)


@pytest.mark.parametrize(("base", "function"), [(2.0, torch.log2), (10.0, torch.log10)])
def test_logarithms_of_powers_are_whole_in_double_precision(base: float, function: Any) -> None:
    edges = torch.tensor([0.0, -1.0, INFINITY, NAN], dtype=torch.float64)
    x = torch.cat([base ** torch.arange(-8, 20, dtype=torch.float64), edges])
    assert_same(lambda x: torch.floor(function(x)), x)


EXPONENTS = [0, 1, 2, 3, 0.5, -0.5, -1, -2, 2.5, 7]


@pytest.mark.parametrize("exponent", EXPONENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_pow_of_a_float(exponent: float, dtype: torch.dtype) -> None:
    x = torch.tensor([0.5, 1.0, 2.0, 3.5])
    assert_same(lambda x: x**exponent, (x if exponent % 1 else x - 2.25).to(dtype))


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 5, 20, 2.0, 0.5, -1.5])
def test_pow_of_an_integer(exponent: float) -> None:
    x = torch.tensor([1, 2, 3, 7])
    assert_same(lambda x: x**exponent, x)
    assert_same(lambda x: x**exponent, x.to(torch.int32))


def test_pow_wraps_around() -> None:
    assert_same(lambda x: (x**3, x**4), torch.tensor([3, 5, 100], dtype=torch.uint8))
    assert_same(lambda x: x**3, torch.tensor([2**31, 3, -5]))


def test_pow_of_tensors() -> None:
    x, y = torch.tensor([0.5, 2.0, 3.0]), torch.tensor([2.0, -1.0, 0.5])
    assert_same(torch.pow, x, y)
    assert_same(torch.pow, x.half(), y)
    assert_same(torch.pow, torch.tensor([2, 3, -1, 0, 1]), torch.tensor([5, 0, 3, 2, 9]))
    assert_same(torch.pow, torch.tensor([2, 3, -1, 0, 1]), torch.tensor([-5, 0, -3, -2, -9]))
    assert_same(torch.pow, torch.tensor([2, 3]), torch.tensor([0.5, -2.0]))
    assert_same(torch.float_power, x, y)
    assert_same(lambda x: torch.float_power(x, 2), torch.tensor([2, 3]))


def test_pow_of_a_number() -> None:
    assert_same(lambda x: (2**x, 2.5**x, 1**x, 10**x), torch.tensor([0.5, -1.0, 3.0]))
    assert_same(lambda x: (2**x, 2.5**x, 3**x), torch.tensor([0, 1, 10]))


def test_squares_stay_fusable() -> None:
    assert_same(lambda x: x**2, torch.randn(3), nodes=["Pow"])


def test_logaddexp() -> None:
    x = torch.tensor([1.0, 100.0, -INFINITY, INFINITY, INFINITY, 0.0, NAN])
    y = torch.tensor([2.0, 100.0, -INFINITY, INFINITY, -INFINITY, -500.0, 1.0])
    assert_same(lambda x, y: (torch.logaddexp(x, y), torch.logaddexp2(x, y)), x, y)


@pytest.mark.parametrize("function", [torch.xlogy, torch.special.xlog1py])
def test_xlogy(function: Callable[..., Any]) -> None:
    x = torch.tensor([0.0, 0.0, 1.0, 2.0, 0.0])
    y = torch.tensor([0.0, NAN, 0.5, 3.0, INFINITY])
    assert_same(function, x, y)
    assert_same(lambda x: (function(x, 2), function(2, x.abs())), x)
    assert_same(function, torch.tensor([0, 2]), torch.tensor([0, 3]))


def test_ldexp() -> None:
    assert_same(torch.ldexp, torch.tensor([0.5, 3.0]), torch.tensor([3, -2]))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16])
def test_frexp(dtype: torch.dtype) -> None:
    x = torch.tensor([0.0, 1.0, -1.0, 0.5, 0.49, 3.0, 1024.0, -1e-3, 6e4], dtype=dtype)
    assert_same(torch.frexp, x)
    assert_same(torch.frexp, 2.0 ** torch.arange(-60, 60, 7, dtype=torch.float64))
