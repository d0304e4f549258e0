"""Logic, bits, shifts and choices."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from onnxpert.capture import capture
from onnxpert.core.types import Captured, Request
from onnxpert.load import load
from onnxpert.lower import lower
from tests.lower.same import assert_same

A = torch.tensor([-128, -7, -1, 0, 1, 6, 100, 127])
B = torch.tensor([3, -3, 1, 5, 127, 12, -128, 85])
TRUTHS = torch.tensor([True, True, False, False]), torch.tensor([True, False, True, False])
INTEGERS = [torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]
LOGICAL = {
    "and": torch.logical_and,
    "or": torch.logical_or,
    "xor": torch.logical_xor,
}
BITWISE = {"and": torch.bitwise_and, "or": torch.bitwise_or, "xor": torch.bitwise_xor}


@pytest.mark.parametrize("name", LOGICAL)
def test_logical(name: str) -> None:
    function = LOGICAL[name]
    assert_same(function, *TRUTHS)
    assert_same(function, torch.tensor([0.0, 0.5, float("nan")]), torch.tensor([0, 0, 3]))
    assert_same(torch.logical_not, torch.tensor([0.0, -0.0, 0.5]))


@pytest.mark.parametrize("name", BITWISE)
@pytest.mark.parametrize("dtype", [*INTEGERS, torch.bool])
def test_bitwise(name: str, dtype: torch.dtype) -> None:
    function = BITWISE[name]
    assert_same(function, A.to(dtype), B.to(dtype))
    assert_same(lambda x: (function(x, 5), function(5, x)), A.to(dtype))


def test_operators() -> None:
    assert_same(lambda x, y: (x & y, x | y, x ^ y, ~x, x & True), *TRUTHS)
    assert_same(lambda x, y: (x & y, x | y, x ^ y, ~x, x & 6, x | 1, x ^ 3), A, B)
    assert_same(lambda x, y: (x & y, x | y, x ^ y, ~x), *TRUTHS, opset=13)


def test_bits_need_opset_18() -> None:
    captured = capture(load(Request(torch.bitwise_and, (A, B))))
    assert isinstance(captured, Captured)
    (missing,) = lower(captured, opset=17).unsupported
    assert missing.lowest_opset == 18


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("opset", [13, 20])
def test_bitwise_not(dtype: torch.dtype, opset: int) -> None:
    assert_same(torch.bitwise_not, A.to(dtype), opset=opset)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("opset", [13, 20])
def test_shift_by_tensors(dtype: torch.dtype, opset: int) -> None:
    by = torch.tensor([0, 1, 2, 3, 5, 6, 7, 1]).to(dtype)
    assert_same(lambda x, y: (x << y, x >> y), A.to(dtype), by, opset=opset)


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("number", [0, 1, 3, 7])
def test_shift_by_numbers(dtype: torch.dtype, number: int) -> None:
    assert_same(lambda x: (x << number, x >> number), A.to(dtype))
    assert_same(
        lambda x: (torch.bitwise_left_shift(x, number), torch.bitwise_right_shift(x, number)),
        A.to(dtype),
    )


def test_shift_out() -> None:
    by = torch.tensor([64, 100, -1, 63, -5, 62, 64, 3])
    assert_same(lambda x, y: (x << y, x >> y), A, by)
    small = torch.tensor([8, 100, -1, 7, -5, 6, 9, 3], dtype=torch.int8)
    assert_same(lambda x, y: (x << y, x >> y), A.to(torch.int8), small)
    assert_same(lambda y: (torch.bitwise_left_shift(3, y), torch.bitwise_right_shift(-9, y)), by)
    assert_same(lambda x: (x << 70, x >> 70, x >> -1), A)


@pytest.mark.parametrize(
    "dtype", [torch.float32, torch.float64, torch.float16, torch.bool, torch.int16, *INTEGERS[:2]]
)
def test_where(dtype: torch.dtype) -> None:
    c = torch.tensor([[True], [False]])
    assert_same(torch.where, c, torch.ones(2, 3).to(dtype), torch.zeros(3).to(dtype))


def test_where_of_mixed_kinds() -> None:
    c, x = torch.tensor([True, False, True]), torch.tensor([1.0, 2.0, 3.0])
    numbers: list[Any] = [0, -1.5, True]
    for number in numbers:
        assert_same(lambda c, x, n=number: (torch.where(c, x, n), torch.where(c, n, x)), c, x)
    assert_same(
        lambda c: (torch.where(c, 1, 0), torch.where(c, 1.0, 0), torch.where(c, True, False)), c
    )
    assert_same(torch.where, c, x, torch.tensor([1, 2, 3]))
    assert_same(torch.where, c, x.half(), torch.tensor(2.0, dtype=torch.float64))
    assert_same(lambda c, x: torch.where(c, x, -float("inf")), c, x)


def test_where_of_other_sizes() -> None:
    assert_same(
        lambda c, x: torch.where(c > 0, x, 0.0),
        torch.randn(2, 1),
        torch.randn(2, 5),
        dynamic=({0: "a"}, {0: "a", 1: "b"}),
        others=[[torch.randn(1, 1), torch.randn(1, 3)]],
    )


def test_truth_values_are_shifted_as_whole_numbers() -> None:
    x = torch.tensor([True, False])
    assert_same(lambda x: (x << 1, x >> 1, x << torch.tensor([2, 3])), x)
