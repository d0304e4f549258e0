"""Diagonals and triangles."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

DTYPES = [
    torch.float32, torch.float64, torch.float16, torch.int64, torch.int16, torch.uint8, torch.bool,
]  # fmt: skip


@pytest.mark.parametrize("diagonal", [-9, -1, 0, 2, 9])
@pytest.mark.parametrize("opset", [13, 14, 20])
def test_triangles(diagonal: int, opset: int) -> None:
    x = torch.randn(2, 4, 3)
    x[0, 2, 2] = torch.nan
    assert_same(
        lambda x: (x.tril(diagonal), x.triu(diagonal)),
        x,
        dynamic=({1: "rows", 2: "columns"},),
        others=[[torch.randn(2, 1, 6)], [torch.randn(2, 5, 5)]],
        opset=opset,
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("opset", [13, 20])
def test_dtypes(dtype: torch.dtype, opset: int) -> None:
    assert_same(lambda x: (x.tril(), x.triu(1)), torch.ones(3, 4).to(dtype), opset=opset)


def test_diagonal_of_a_size() -> None:
    assert_same(
        lambda x: torch.ones(x.shape[0], x.shape[0]).triu(x.shape[0] - 2),
        torch.randn(4),
        dynamic=({0: "n"},),
        others=[[torch.randn(2)], [torch.randn(7)]],
    )


@pytest.mark.parametrize("dtype", [None, torch.int64, torch.bool])
def test_eye(dtype: torch.dtype | None) -> None:
    assert_same(
        lambda x: (
            torch.eye(x.shape[0], dtype=dtype),
            torch.eye(x.shape[0], 3, dtype=dtype),
            torch.eye(2, 4, dtype=dtype),
            x + 1,
        ),
        torch.randn(4),
        dynamic=({0: "n"},),
        others=[[torch.randn(1)], [torch.randn(6)]],
    )


def test_indices() -> None:
    assert_same(
        lambda x: (
            x + torch.tril_indices(3, 4, 1),
            torch.triu_indices(3, 4, -1, dtype=torch.int32),
        ),
        torch.tensor(0),
    )
