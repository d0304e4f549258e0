"""Medians and their kin."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(3, 6)
OTHERS = [(torch.randn(4, 9),), (torch.randn(1, 3),)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.kthvalue(2),
        lambda x: x.kthvalue(1, 0, keepdim=True),
        lambda x: x.kthvalue(x.shape[1] - 1),
        lambda x: x.median(),
        lambda x: x.median(1),
        lambda x: x.median(0, keepdim=True),
        lambda x: x.nanmedian(),
        lambda x: x.nanmedian(-1),
        lambda x: x.nanmedian(0, keepdim=True),
    ],
)
def test_ranks(call):
    assert_same(call, X, dynamic="auto", others=OTHERS)


def test_not_a_number():
    nan = float("nan")
    x = torch.tensor([[1.0, nan, 0.0, 4.0], [nan, nan, nan, nan], [3.0, 1.0, 2.0, 5.0]])
    assert_same(lambda x: (x.median(), x.median(1), x.nanmedian()), x)
    assert_same(lambda x: x.nanmedian(1).values, x)


def test_scalars_and_whole_numbers():
    assert_same(lambda x: (x.median(), x.kthvalue(1), x.nanmedian()), torch.tensor(2.0))
    assert_same(lambda x: (x.median(), x.nanmedian(0), x.kthvalue(3)), torch.tensor([4, 1, 3, 2]))
