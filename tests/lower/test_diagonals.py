"""Diagonals out of matrices and into them."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

X = torch.randn(3, 4, 5)
OTHERS = [(torch.randn(5, 3, 6),), (torch.randn(4, 4, 4),)]
DYNAMIC = ({0: "a", 1: "b", 2: "c"},)


@pytest.mark.parametrize(
    "call",
    [
        lambda x: x.diagonal(),
        lambda x: x.diagonal(1),
        lambda x: x.diagonal(-1, 1, 2),
        lambda x: x.diagonal(2, 2, 0),
        lambda x: torch.linalg.diagonal(x, offset=1),
        lambda x: torch.diag(x[0]),
        lambda x: torch.diag(x[0], -2),
        lambda x: torch.diag(x[0, 0]),
        lambda x: torch.diag(x[0, 0], 2),
        lambda x: torch.diag_embed(x[0]),
        lambda x: torch.diag_embed(x[0], -1),
        lambda x: torch.diag_embed(x, 1, 0, 2),
        lambda x: torch.diagflat(x[0], 1),
        lambda x: x[0].trace(),
        lambda x: (x[0] * 3).long().trace(),
        lambda x: x.diagonal_scatter(torch.zeros_like(x.diagonal())),
        lambda x: x.diagonal_scatter(x.diagonal(1, 1, 2) * 0 + 7, 1, 1, 2),
        lambda x: x.diagonal_scatter(x.diagonal(-1, 2, 0) * 0 + 7, -1, 2, 0),
    ],
)
def test_diagonals(call):
    assert_same(call, X)
    assert_same(call, X, dynamic=DYNAMIC, others=OTHERS)


@pytest.mark.parametrize("offset", [-9, -4, -3, 0, 4, 5])
def test_offsets(offset):
    assert_same(lambda x: x.diagonal(offset), torch.randn(4, 5))


@pytest.mark.parametrize("dtype", [torch.bool, torch.int16, torch.int32])
def test_dtypes(dtype):
    x = torch.ones(3, 3).to(dtype)
    assert_same(lambda x: (x.diagonal(), torch.diag(x[0]), torch.diag_embed(x)), x)
    assert_same(lambda x: x.diagonal_scatter(x[0], 0), x)
