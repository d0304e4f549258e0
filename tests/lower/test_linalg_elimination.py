"""LU with pivots, determinants, inverses and solutions, beside torch's own."""

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


def matrix(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Well-conditioned, with no large diagonal: pivots are needed."""
    torch.manual_seed(sum(sizes))
    *batch, height, width = sizes
    mixed = torch.randn(*sizes, dtype=dtype)
    return mixed + 3 * torch.eye(height, width, dtype=dtype).flip(-1).expand(*batch, height, width)


UNARY: list[Callable[[torch.Tensor], Any]] = [
    linalg.det,
    linalg.slogdet,
    linalg.inv,
    linalg.inv_ex,
    torch.logdet,
    linalg.lu,
    linalg.lu_factor,
    linalg.lu_factor_ex,
]


@pytest.mark.parametrize("function", UNARY, ids=lambda function: function.__name__)
@pytest.mark.parametrize("sizes", [(4, 4), (2, 3, 3)])
def test_of_one_matrix(function: Callable[..., Any], sizes: tuple[int, ...]) -> None:
    assert_same(function, matrix(*sizes), dynamic="auto")


@pytest.mark.parametrize("function", [linalg.det, linalg.slogdet, torch.logdet, linalg.inv])
def test_in_double(function: Callable[..., Any]) -> None:
    assert_same(function, matrix(2, 5, 5, dtype=torch.float64))


def test_another_size_of_matrix() -> None:
    sizes = {0: torch.export.Dim("n"), 1: torch.export.Dim("n")}
    others = [[matrix(n, n)] for n in (3, 7, 16)]
    assert_same(Call(linalg.inv), matrix(5, 5), dynamic=(sizes,), others=others)


def test_another_batch() -> None:
    others = [[matrix(5, 3, 3)], [matrix(1, 3, 3)], [matrix(0, 3, 3)]]
    dynamic = ({0: torch.export.Dim("batch")},)
    assert_same(Call(linalg.inv), matrix(2, 3, 3), dynamic=dynamic, others=others)
    assert_same(Call(linalg.slogdet), matrix(2, 3, 3), dynamic=dynamic, others=others)


@pytest.mark.parametrize("sizes", [(3, 5), (5, 3), (2, 4, 2)])
def test_factors_of_oblong_matrices(sizes: tuple[int, ...]) -> None:
    assert_same(linalg.lu, matrix(*sizes), dynamic="auto")
    assert_same(linalg.lu_factor_ex, matrix(*sizes))


def test_a_zero_where_the_first_pivot_would_be() -> None:
    x = torch.tensor([[0.0, 2.0, 1.0], [1.0, 0.0, 0.0], [3.0, 0.0, 1.0]])
    assert_same(linalg.inv, x)
    assert_same(lambda a: linalg.solve(a, torch.ones(3)), x)


def test_the_logarithm_of_what_is_negative_or_none() -> None:
    x = torch.tensor([[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 2.0]], [[0.0, 0.0], [0.0, 0.0]]])
    assert_same(torch.logdet, x)


def test_a_matrix_that_has_no_inverse() -> None:
    singular = torch.tensor([[1.0, 2.0], [2.0, 4.0]])
    assert_same(linalg.slogdet, singular)
    assert_same(lambda a: linalg.lu_factor_ex(a)[2], singular)
    assert_same(linalg.det, singular.double())


@pytest.mark.parametrize(
    ("a", "b", "left"),
    [
        ((3, 3), (3,), True),
        ((3, 3), (3, 2), True),
        ((2, 3, 3), (2, 3), True),
        ((2, 3, 3), (3, 4), True),
        ((2, 3, 3), (2, 4, 3), False),
        ((3, 3), (5, 3, 2), True),
    ],
)
def test_systems(a: tuple[int, ...], b: tuple[int, ...], left: bool) -> None:
    torch.manual_seed(1)
    assert_same(lambda x, y: linalg.solve(x, y, left=left), matrix(*a), torch.randn(b))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("adjoint", [True, False])
def test_systems_from_factors(left: bool, adjoint: bool) -> None:
    torch.manual_seed(2)
    lu, pivots = linalg.lu_factor(matrix(2, 4, 4))

    def solve(lu: torch.Tensor, pivots: torch.Tensor, b: torch.Tensor) -> Any:
        return linalg.lu_solve(lu, pivots, b, left=left, adjoint=adjoint)

    assert_same(solve, lu, pivots, torch.randn(2, 4, 4), dynamic="auto")


def test_unpacked() -> None:
    assert_same(torch.lu_unpack, *linalg.lu_factor(matrix(2, 4, 3)), dynamic="auto")


@pytest.mark.parametrize("opset", [13, 17, 23])
def test_opsets(opset: int) -> None:
    assert_same(linalg.inv, matrix(2, 3, 3), opset=opset)


def test_nothing() -> None:
    assert_same(linalg.inv, torch.empty(0, 0))
    assert_same(linalg.det, torch.empty(2, 0, 0))


def test_the_operator_where_the_runtime_has_it() -> None:
    assert_same(linalg.det, matrix(3, 4, 4), nodes=["Det"])
