"""Segments of every length, none included."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

X = torch.tensor([[1.0, -2.0, 3.0], [4.0, float("nan"), 0.5], [2.0, 1.0, 1.0], [0.0, 7.0, -1.0]])
LENGTHS = torch.tensor([1, 0, 3])


@pytest.mark.parametrize("initial", [None, 0.5])
@pytest.mark.parametrize("reduce", ["sum", "mean", "max", "min", "prod"])
def test_segment_reduce(reduce: str, initial: float | None) -> None:
    def by_lengths(x: torch.Tensor, lengths: torch.Tensor) -> Any:
        return torch.segment_reduce(x, reduce, lengths=lengths, initial=initial, unsafe=True)

    def by_offsets(x: torch.Tensor, offsets: torch.Tensor) -> Any:
        return torch.segment_reduce(x, reduce, offsets=offsets, initial=initial, unsafe=True)

    other = (torch.randn(4, 3), torch.tensor([2, 2, 0]))
    assert_same(by_lengths, X, LENGTHS, others=[other])
    assert_same(by_offsets, X, torch.tensor([0, 1, 1, 4]))


def test_of_each_row_its_own() -> None:
    lengths = torch.tensor([[1, 2], [3, 0]])
    assert_same(
        lambda x, n: torch.segment_reduce(x, "sum", lengths=n, axis=1, unsafe=True),
        torch.randn(2, 3, 4),
        lengths,
    )
