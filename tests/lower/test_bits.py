"""The bits of numbers: memory read as another dtype, and checksums."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

NUMBERS = torch.tensor(
    [1.5, -0.0, 0.0, 3.1415926, -2.5e-3, 1e30, -65504.0, 6.1e-5, 3e-8, torch.inf, -torch.inf, 1.0,
     2.0, 0.5, 4095.9, 1e-42]
)  # fmt: skip
FLOATS = {torch.float16: torch.int16, torch.float32: torch.int32, torch.float64: torch.int64}


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats_read_as_integers_and_back(dtype: torch.dtype) -> None:
    numbers, word = NUMBERS.to(dtype), FLOATS[dtype]
    assert_same(lambda x: x.view(word), numbers, dynamic="auto")
    assert_same(lambda x: x.view(dtype), numbers.view(word), dynamic="auto")
    assert_same(lambda x: x.view(torch.uint8), numbers)
    assert_same(lambda x: x.view(dtype), numbers.view(torch.uint8))


def test_the_ends_of_float64() -> None:
    ends = torch.tensor([5e-324, -1e-310, 2.2250738585072014e-308, 1.7e308], dtype=torch.float64)
    assert_same(lambda x: x.view(torch.int64), ends)
    assert_same(lambda x: x.view(torch.float64), ends.view(torch.int64))


def test_bfloat16_inside() -> None:
    assert_same(lambda x: x.bfloat16().view(torch.int16), NUMBERS)


INTEGERS = [
    (torch.tensor([-1, 300, 7], dtype=torch.int32), torch.uint8),
    (torch.tensor([200, 7], dtype=torch.uint8), torch.int8),
    (torch.tensor([[-5, 2**31 - 1], [-(2**31), 9]], dtype=torch.int32), torch.int64),
    (torch.tensor([-(2**63), -1, 2**62 + 1]), torch.int16),
    (torch.tensor([1, 0], dtype=torch.uint8), torch.bool),
]


@pytest.mark.parametrize(("numbers", "dtype"), INTEGERS)
def test_integers_of_other_widths(numbers: torch.Tensor, dtype: torch.dtype) -> None:
    assert_same(lambda x: x.view(dtype), numbers)
    assert_same(lambda x: x.view(dtype), numbers, opset=13)


@pytest.mark.skipif(not hasattr(torch, "hash_tensor"), reason="this torch has no hash_tensor")
@pytest.mark.parametrize(
    "numbers",
    [
        NUMBERS.reshape(4, 4),
        torch.tensor([[-2, 1], [3, -(2**63)]]),
        torch.tensor([[True, False], [True, True]]),
    ],
)
def test_checksums(numbers: torch.Tensor) -> None:
    assert_same(torch.hash_tensor, numbers)
    assert_same(lambda x: torch.hash_tensor(x, dim=1, keepdim=True), numbers, dynamic="auto")
    assert_same(lambda x: torch.hash_tensor(x, dim=0), numbers, opset=13)
