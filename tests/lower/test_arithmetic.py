"""Sums, differences and products."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

FLOATS = torch.tensor([[-2.5, -1.0, 0.0], [0.3, 1.0, 7.25]])
WHOLE = torch.tensor([[-7, -1, 0], [1, 3, 100]])

UNARY = {
    "neg": torch.neg,
    "abs": torch.abs,
    "sign": torch.sign,
    "sgn": torch.sgn,
    "square": torch.square,
    "reciprocal": torch.reciprocal,
    "positive": torch.positive,
    "absolute": torch.absolute,
    "negative": torch.negative,
}
BINARY = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "rsub": torch.rsub,
    "subtract": torch.subtract,
    "multiply": torch.multiply,
}


@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("x", [FLOATS, FLOATS.double(), FLOATS.half(), WHOLE, WHOLE.to(torch.int8)])
def test_unary(name: str, x: torch.Tensor) -> None:
    assert_same(UNARY[name], x)


def test_unsigned_numbers_wrap_around() -> None:
    x = torch.tensor([0, 1, 200, 255], dtype=torch.uint8)
    assert_same(lambda x: (-x, x.abs(), x.sign(), x + 100, x - 1, x * x), x)
    assert_same(lambda x: (-x, x + 100, x * x), x, opset=13)


@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize(
    "other",
    [FLOATS + 1, FLOATS[0].double(), WHOLE + 2, WHOLE.to(torch.int32), 3, -1.5, torch.tensor(2.0)],
)
@pytest.mark.parametrize("x", [FLOATS, WHOLE], ids=["float", "int"])
def test_binary(name: str, x: torch.Tensor, other: Any) -> None:
    if isinstance(other, torch.Tensor):
        assert_same(BINARY[name], x, other)
    else:
        assert_same(lambda x: BINARY[name](x, other), x)


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.uint8, torch.float16])
@pytest.mark.parametrize("opset", [13, 20])
def test_narrow_dtypes(dtype: torch.dtype, opset: int) -> None:
    x, y = torch.tensor([1, 100, 7]).to(dtype), torch.tensor([3, 90, 2]).to(dtype)
    assert_same(lambda x, y: (x + y, x - y, x * y, x + 3, 5 - x), x, y, opset=opset)


def test_truth_values() -> None:
    x, y = torch.tensor([True, True, False]), torch.tensor([True, False, False])
    assert_same(lambda x, y: (x + y, x * y, x * 2, x + 1.5), x, y)


@pytest.mark.parametrize("alpha", [2, -3])
def test_alpha(alpha: int) -> None:
    assert_same(lambda x, y: torch.add(x, y, alpha=alpha), FLOATS, FLOATS + 1)
    assert_same(lambda x, y: torch.sub(x, y, alpha=alpha), WHOLE, WHOLE + 1)
    assert_same(lambda x, y: torch.rsub(x, y, alpha=alpha), WHOLE, WHOLE + 1)


def test_dynamic_broadcasting() -> None:
    x, y = torch.randn(2, 1, 4), torch.randn(3, 1)
    assert_same(
        lambda x, y: x + y * 2,
        x,
        y,
        dynamic=({0: "batch"}, {0: "rows"}),
        others=[
            [torch.randn(1, 1, 4), torch.randn(5, 1)],
            [torch.randn(4, 1, 4), torch.randn(1, 1)],
        ],
    )


def test_sizes_as_numbers() -> None:
    def function(x: torch.Tensor) -> Any:
        return x * x.shape[0] + x.shape[1] / 2, x.long() + x.shape[0]

    assert_same(
        function, torch.randn(2, 3), dynamic=({0: "a", 1: "b"},), others=[[torch.randn(5, 1)]]
    )


TERNARY: dict[str, Callable[..., Any]] = {
    "addcmul": torch.addcmul,
    "addcmul-value": lambda x, y, z: torch.addcmul(x, y, z, value=0.5),
    "addcdiv": torch.addcdiv,
    "addcdiv-value": lambda x, y, z: torch.addcdiv(x, y, z, value=-2),
    "lerp-near": lambda x, y, z: torch.lerp(x, y, 0.25),
    "lerp-far": lambda x, y, z: torch.lerp(x, y, 0.75),
    "lerp-tensor": torch.lerp,
}


@pytest.mark.parametrize("name", TERNARY)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_ternary(name: str, dtype: torch.dtype) -> None:
    x, y, z = torch.randn(2, 3), torch.randn(3), torch.rand(2, 1) + 0.1
    assert_same(TERNARY[name], x.to(dtype), y.to(dtype), z.to(dtype))


def test_lerp_is_exact_at_both_ends() -> None:
    x, y = torch.tensor([1e8, 3.0]), torch.tensor([1.0, 4.0])
    assert_same(torch.lerp, x, y, torch.tensor([1.0, 0.0]))


def test_integers_addcmul() -> None:
    assert_same(lambda x, y, z: torch.addcmul(x, y, z, value=2), WHOLE, WHOLE + 1, WHOLE - 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.float64])
def test_sign_of_nan_is_zero(dtype: torch.dtype) -> None:
    assert_same(torch.sign, torch.tensor([float("nan"), -2.0, 0.0, float("inf")], dtype=dtype))
