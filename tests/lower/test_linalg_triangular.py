"""Triangular systems and Cholesky's factor, beside torch's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.lower.same import assert_same

linalg = torch.linalg


class Call(torch.nn.Module):
    """A built-in function as a model whose argument has a name, for its sizes to vary."""

    def __init__(self, function: Callable[[torch.Tensor], Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


def positive(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(sum(sizes))
    x = torch.randn(*sizes, dtype=dtype)
    return x @ x.mT + torch.eye(sizes[-1], dtype=dtype)


def triangle(*sizes: int) -> torch.Tensor:
    """Neither half is zero: the one that is not asked for must not be read."""
    torch.manual_seed(sum(sizes))
    return torch.randn(*sizes) + 4 * torch.eye(sizes[-1])


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("unit", [True, False])
def test_triangular_systems(upper: bool, left: bool, unit: bool) -> None:
    def solve(a: torch.Tensor, b: torch.Tensor) -> Any:
        return linalg.solve_triangular(a, b, upper=upper, left=left, unitriangular=unit)

    b = torch.randn(2, 3, 4) if left else torch.randn(2, 4, 3)
    half = triangle(2, 3, 3).triu() if upper else triangle(2, 3, 3).tril()
    assert_same(solve, half, b, dynamic="auto")


@pytest.mark.filterwarnings("ignore:torch.triangular_solve is deprecated")
@pytest.mark.parametrize("transpose", [True, False])
@pytest.mark.parametrize("upper", [True, False])
def test_triangular_solve(upper: bool, transpose: bool) -> None:
    def solve(b: torch.Tensor, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        x, kept = torch.triangular_solve(b, a, upper=upper, transpose=transpose)
        return x, kept

    assert_same(solve, torch.randn(3, 2), triangle(3, 3))


@pytest.mark.parametrize("upper", [True, False])
@pytest.mark.parametrize("sizes", [(4, 4), (2, 3, 3), (1, 1)])
def test_cholesky(sizes: tuple[int, ...], upper: bool) -> None:
    assert_same(lambda x: linalg.cholesky(x, upper=upper), positive(*sizes), dynamic="auto")
    assert_same(lambda x: linalg.cholesky_ex(x, upper=upper), positive(*sizes))


def test_cholesky_of_another_size_and_dtype() -> None:
    size = torch.export.Dim("n")
    others = [[positive(n, n, dtype=torch.float64)] for n in (2, 9)]
    dynamic = ({0: size, 1: size},)
    start = positive(4, 4, dtype=torch.float64)
    assert_same(Call(linalg.cholesky), start, dynamic=dynamic, others=others)


def test_where_it_is_not_positive() -> None:
    x = torch.tensor([[4.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, 1.0]])
    assert_same(lambda x: linalg.cholesky_ex(x)[1], x)


@pytest.mark.parametrize("upper", [True, False])
def test_what_is_made_of_the_factor(upper: bool) -> None:
    factor = linalg.cholesky(positive(2, 3, 3), upper=upper)
    b = torch.randn(2, 3, 2)
    assert_same(lambda b, f: torch.cholesky_solve(b, f, upper=upper), b, factor, dynamic="auto")
    assert_same(lambda f: torch.cholesky_inverse(f, upper=upper), factor, dynamic="auto")


def test_an_infinite_row_stays_alone() -> None:
    singular = torch.tensor([[0.0, 1.0], [0.0, 2.0]])
    assert_same(
        lambda a, b: torch.linalg.solve_triangular(a, b, upper=True), singular, torch.ones(2, 1)
    )


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("at", [0, 2, 3])
def test_a_factor_that_fails_stops_where_lapack_stops(at: int, upper: bool) -> None:
    x = torch.randn(4, 4)
    x = x @ x.mT
    x[at, at] = -1.0
    assert_same(lambda x: tuple(torch.linalg.cholesky_ex(x, upper=upper)), x)
