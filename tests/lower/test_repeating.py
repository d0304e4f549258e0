"""Repetitions."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(2, 3)
OTHERS = [(torch.randn(4, 1),), (torch.randn(1, 5),)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.repeat(2, 3),
        lambda x: x.repeat(3, 1, 2),
        lambda x: x.repeat(1, 1),
        lambda x: x.repeat(0, 1),
        lambda x: x[:, None].repeat(1, 4, 1),
        lambda x: x[:, None].repeat(1, x.shape[1], 1),
        lambda x: x.repeat(x.shape[1], 1),
        lambda x: x.tile(2),
        lambda x: x.tile((2, 1, 2)),
        lambda x: x.tile((2, 1)),
        lambda x: x.repeat_interleave(2),
        lambda x: x.repeat_interleave(3, dim=0),
        lambda x: x.repeat_interleave(3, dim=-1),
        lambda x: x.repeat_interleave(x.shape[0], dim=1),
        lambda x: x.repeat_interleave(1, dim=1),
    ],
)
def test_repeats(call):
    assert_same(call, X, dynamic="auto", others=OTHERS)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.uint8, torch.float64])
def test_dtypes(dtype):
    x = torch.ones(2, 2).to(dtype)
    assert_same(lambda x: (x.repeat(2, 2), x.repeat_interleave(2)), x)


@pytest.mark.parametrize("opset", [13, 20])
def test_as_often_as_a_tensor_says(opset):
    counts = torch.tensor([2, 0, 3])
    others = [
        (torch.randn(3, 4), torch.tensor([0, 0, 1])),
        (torch.randn(3, 4), torch.tensor([0, 0, 0])),
    ]
    assert_same(
        lambda x, n: x.repeat_interleave(n, dim=0),
        torch.randn(3, 4),
        counts,
        others=others,
        opset=opset,
    )
    assert_same(torch.repeat_interleave, counts, opset=opset)


def test_as_often_as_a_tensor_says_of_a_dynamic_size():
    def call(x, n):
        return x.repeat_interleave(n, dim=1), x.flatten().repeat_interleave(n[0])

    x, counts = torch.randn(2, 3), torch.tensor([1, 2, 1], dtype=torch.int32)
    others = [(torch.randn(3, 5), torch.tensor([1, 0, 0, 2, 4], dtype=torch.int32))]
    dynamic = ({0: "a", 1: "b"}, {0: "b"})
    assert_same(call, x, counts, dynamic=dynamic, others=others)


def test_scalars():
    assert_same(lambda x: (x.repeat(3), x.repeat(2, 2), x.tile(2)), torch.tensor(2.0))
    assert_same(lambda x: x.repeat_interleave(3), torch.tensor(2.0))
