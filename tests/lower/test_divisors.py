"""Common divisors and multiples."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

A = torch.tensor([12, -12, 0, 0, 7, 55, 100])
B = torch.tensor([18, 18, 5, 0, 13, 89, -75])


@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.int16, torch.int8])
@pytest.mark.parametrize("opset", [13, 20])
def test_divisors(dtype: torch.dtype, opset: int) -> None:
    assert_same(torch.gcd, A.to(dtype), B.to(dtype), opset=opset)
    assert_same(torch.lcm, (A % 11).to(dtype), (B % 11).to(dtype), opset=opset)


def test_broadcasting() -> None:
    assert_same(
        lambda x, y: (torch.gcd(x, y), torch.lcm(x, y)),
        A[:, None],
        B,
        dynamic=({0: "rows"}, {0: "columns"}),
        others=[[A[:1, None], B[:3]]],
    )


def test_many_steps() -> None:
    assert_same(torch.gcd, torch.tensor(7540113804746346429), torch.tensor(4660046610375530309))


def test_unsigned() -> None:
    x = torch.tensor([200, 12], dtype=torch.uint8)
    assert_same(torch.gcd, x, torch.tensor([150, 18], dtype=torch.uint8))
