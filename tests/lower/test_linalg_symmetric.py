"""L D L' with pivots of one and of two, and its solves, alone and in batches."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

torch.manual_seed(0)


def _symmetric(*shape: int) -> torch.Tensor:
    x = torch.randn(*shape, shape[-1])
    return x + x.mT


def _hollow(size: int) -> torch.Tensor:
    """Nothing on the diagonal: every pivot is a block of two."""
    x = _symmetric(size)
    return x - x.diagonal().diag()


MATRICES = {
    "one": _symmetric(1),
    "five": _symmetric(5),
    "batch": _symmetric(3, 2, 6),
    "blocks of two": _hollow(4),
    "singular": torch.zeros(3, 3),
    "none": torch.zeros(2, 0, 0),
}


@pytest.mark.parametrize("name", MATRICES)
def test_factors(name: str) -> None:
    assert_same(lambda x: tuple(torch.linalg.ldl_factor_ex(x)), MATRICES[name])


def test_factors_at_other_sizes() -> None:
    assert_same(
        lambda x: tuple(torch.linalg.ldl_factor(x)),
        _symmetric(2, 5),
        dynamic=({0: "n"},),
        others=[[_symmetric(4, 5)], [_symmetric(1, 5)]],
    )


@pytest.mark.parametrize("name", ["one", "five", "batch", "blocks of two", "none"])
def test_solve(name: str) -> None:
    def solve(ld: torch.Tensor, pivots: torch.Tensor, b: torch.Tensor) -> Any:
        return torch.linalg.ldl_solve(ld, pivots, b)

    factors = torch.linalg.ldl_factor(MATRICES[name])
    assert_same(solve, *factors, torch.randn(*MATRICES[name].shape[:-1], 2))


def test_an_infinite_row_stays_alone() -> None:
    factors = torch.linalg.ldl_factor_ex(torch.diag(torch.tensor([0.0, 2.0, 3.0])))[:2]
    assert_same(torch.linalg.ldl_solve, *factors, torch.ones(3, 1))
