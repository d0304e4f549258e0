"""The larger and the smaller of a size and a number, where the size may be zero or one in a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.lower.same import assert_same


def mean(x: Tensor) -> Any:
    return x.sum() / max(x.shape[0], 1), x.sum() / max(1, 2 * len(x))


def pairs(x: Tensor) -> Any:
    return torch.ones(max(x.shape[0] - 1, 0)), torch.zeros(max(x.shape[0], 1), 2)


def at_most_one(x: Tensor) -> Any:
    return x + min(len(x), 1), min(x.shape[0], 7, 1)


def one_fewer(x: Tensor) -> Any:
    n = max(x.shape[0] - 1, 1)
    return torch.ones(n, 2) * n, min(x.shape[0] - 1, 1), max(x.shape[0] - 2, 0)


def stretched(x: Tensor) -> Any:
    return torch.arange(max(2 * x.shape[0] - 3, 2)), min(3 * x.shape[0], 4)


def beside_a_loop(x: Tensor) -> Any:
    total, rows = x.sum(), [x.sum()]
    while total.abs() > 1:
        total = total * 0.7
        if total > 0:
            rows.append(total)
    return torch.stack(rows) / max(x.shape[0], 1)


@pytest.mark.parametrize(
    "function", [mean, pairs, at_most_one, one_fewer, stretched, beside_a_loop]
)
def test_nothing_at_all(function: Callable[[Tensor], Any]) -> None:
    torch.manual_seed(0)
    others = [(torch.randn(size, 4),) for size in (0, 1, 2, 7)]
    assert_same(function, torch.randn(3, 4), dynamic=({0: "n"},), others=others)


def test_what_it_is_for_all_other_sizes_stays_known() -> None:
    def added(x: Tensor) -> Tensor:
        return x + torch.ones(max(x.shape[0], 1), 4)

    result = assert_same(
        added, torch.randn(3, 4), dynamic=({0: "n"},), others=[(torch.ones(1, 4),)]
    )
    assert [(symbol.lower, symbol.upper) for symbol in result.symbols] == [(1, None)]
