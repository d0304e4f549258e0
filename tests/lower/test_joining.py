"""Concatenations, stacks, grids."""

from __future__ import annotations

import pytest
import torch
from torch.nn.utils.rnn import pad_sequence

from tests.lower.same import assert_same

X, Y = torch.randn(2, 3), torch.randn(2, 3)
OTHERS = [(torch.randn(4, 5), torch.randn(4, 5)), (torch.randn(1, 1), torch.randn(1, 1))]
DYNAMIC = ({0: "a", 1: "b"}, {0: "a", 1: "b"})


@pytest.mark.parametrize(
    "call",
    [
        lambda x, y: torch.cat([x, y]),
        lambda x, y: torch.cat([x, y, x], dim=-1),
        lambda x, y: torch.concat([x, y], 1),
        lambda x, y: torch.concatenate([x, y], 1),
        lambda x, y: torch.cat([x]),
        lambda x, y: torch.cat([torch.zeros(0), x, y], 1),
        lambda x, y: torch.cat([x, y[:0]]),
        lambda x, y: torch.cat([x, (y > 0)], 1),
        lambda x, y: torch.cat([x.long(), y.double()], 1),
        lambda x, y: torch.stack([x, y]),
        lambda x, y: torch.stack([x, y, x], 1),
        lambda x, y: torch.stack([x, y], -1),
        lambda x, y: torch.stack([x[0, 0], y[0, 0]]),
        lambda x, y: pad_sequence([x, y[:1], torch.cat([y, y])], batch_first=True),
        lambda x, y: pad_sequence([x[:1, 0], y[:, 0]], padding_value=-1, padding_side="left"),
        lambda x, y: pad_sequence([x[x[:, 0] > 0], y[y[:, 0] > 0]], padding_value=0.5),
        lambda x, y: torch.hstack([x, y]),
        lambda x, y: torch.hstack([x[0], y[0]]),
        lambda x, y: torch.hstack([x[0, 0], y[0]]),
        lambda x, y: torch.vstack([x, y]),
        lambda x, y: torch.vstack([x[0], y]),
        lambda x, y: torch.row_stack([x[0, 0], y[0, 0]]),
        lambda x, y: torch.dstack([x, y]),
        lambda x, y: torch.dstack([x[0], y[0]]),
        lambda x, y: torch.column_stack([x, y]),
        lambda x, y: torch.column_stack([x[:, 0], y]),
        lambda x, y: torch.block_diag(x, y[0], y[0, 0]),
        lambda x, y: torch.block_diag(x),
        lambda x, y: torch.meshgrid(x[0], y[:, 0], indexing="ij"),
        lambda x, y: torch.meshgrid(x[0], y[:, 0], y[0], indexing="xy"),
        lambda x, y: torch.meshgrid(x[0], y[0, 0], indexing="ij"),
        lambda x, y: torch.cartesian_prod(x[0], y[:, 0]),
        lambda x, y: torch.cartesian_prod(x[0]),
    ],
)
def test_joins(call):
    assert_same(call, X, Y, dynamic=DYNAMIC, others=OTHERS)


def test_sizes_of_their_own():
    others = [(torch.randn(1, 3), torch.randn(6, 3))]
    dynamic = ({0: "a"}, {0: "b"})
    assert_same(lambda x, y: torch.cat([x, y, x]), X, Y, dynamic=dynamic, others=others)


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_combinations(r):
    assert_same(lambda x: torch.combinations(x, r), torch.randn(4))


def test_combinations_with_replacement():
    assert_same(lambda x: torch.combinations(x, 2, with_replacement=True), torch.arange(4))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int8, torch.int16, torch.float64])
def test_dtypes(dtype):
    x = torch.ones(2, 2).to(dtype)
    assert_same(lambda x: (torch.cat([x, x]), torch.stack([x, x]), torch.block_diag(x, x)), x)


@pytest.mark.parametrize("options", [{}, {"batch_first": True}, {"padding_side": "left"}])
def test_sequences_filled_up_to_the_longest(options):
    def call(x, y):  # the data decide which it is
        rows = [x[x[:, 0] > 0], y[y[:, 0] > 0], x[:2]]
        return torch.nn.utils.rnn.pad_sequence(rows, padding_value=-1.0, **options)

    few, many = -torch.ones(3, 2), torch.ones(5, 2)
    others = [(few, many), (many, few), (few, few)]
    assert_same(call, torch.randn(4, 2), torch.randn(6, 2), dynamic="auto", others=others)
