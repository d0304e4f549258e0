"""Masks."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(3, 4)
OTHERS = [(torch.randn(5, 2),), (torch.randn(1, 1),), (torch.full((2, 2), -1.0),)]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.masked_fill(x > 0, 2),
        lambda x: x.masked_fill(x > 0, float("-inf")),
        lambda x: x.masked_fill(x > 0, x.sum()),
        lambda x: x.masked_fill(x[:, :1] > 0, 1),
        lambda x: x[0].masked_fill(x > 0, 1),
        lambda x: x.masked_select(x > 0),
        lambda x: x.masked_select(x[:1] > 0),
        lambda x: x[:, :1].masked_select(x > 0),
        lambda x: x.masked_scatter(x > 0, x.flip(0)),
        lambda x: x.masked_scatter(x[:, :1] > 0, torch.arange(x.numel()).float()),
        lambda x: x.masked_scatter(x > 9, 2 * x[x > 9]),
        lambda x: (x > 0).nonzero(),
        lambda x: x.clamp(min=0).nonzero(),
        lambda x: torch.argwhere(x > 0),
        lambda x: torch.where(x > 0),
        lambda x: (x > 0).nonzero(as_tuple=True),
        lambda x: x[0].nonzero().flatten(),
        lambda x: torch.nonzero(x > 0)[:, 1] + 1,
    ],
)
def test_masks(call):
    assert_same(call, X, dynamic="auto", others=OTHERS)


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.uint8, torch.float64])
def test_dtypes(dtype):
    x = torch.tensor([[0, 1, 1], [1, 0, 0]]).to(dtype)
    assert_same(lambda x: (x.nonzero(), x.masked_select(x > 0), x.masked_fill(x > 0, 0)), x)
    assert_same(lambda x: x.masked_scatter(x > 0, 1 - x.long()).to(x.dtype), x.long())


def test_scalars():
    for value in (0.0, 2.0):
        assert_same(lambda x: (x.nonzero(), x.masked_fill(x > 1, 5)), torch.tensor(value))
        assert_same(lambda x: x.masked_select(x > 1), torch.tensor(value))


def test_as_many_as_asked():
    def call(x):
        return torch.nonzero_static(x > 0, size=4), torch.nonzero_static(
            x > 0, size=2, fill_value=7
        )

    assert_same(call, torch.tensor([[1.0, -1.0], [1.0, 1.0]]))


def test_nothing_is_scattered_where_there_is_nothing():
    def call(x, rows):
        return x.masked_scatter((x[:, :1] > 9), rows)

    dynamic = ({0: torch.export.Dim("a")}, {0: torch.export.Dim("b")})
    tall = torch.tensor([[10.0, 1.0], [2.0, 3.0], [11.0, 4.0]])
    others = [(torch.zeros(2, 2), torch.zeros(0, 2))]
    assert_same(call, tall, torch.randn(2, 2), dynamic=dynamic, others=others)
