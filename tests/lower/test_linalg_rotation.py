"""Eigenvalues and singular values beside torch's own; of vectors, what does not hang on a sign."""

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


SIZES = [(1, 1), (2, 2), (5, 5), (6, 6), (2, 3, 4, 4)]
OBLONG = [(5, 3), (3, 5), (2, 4, 2), (4, 4)]


def matrix(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(sum(sizes))
    return torch.randn(*sizes, dtype=dtype)


@pytest.mark.parametrize("side", ["L", "U"])
@pytest.mark.parametrize("sizes", SIZES)
def test_eigenvalues(sizes: tuple[int, ...], side: str) -> None:
    assert_same(lambda x: linalg.eigvalsh(x, UPLO=side), matrix(*sizes), dynamic="auto")


def test_eigenvectors_are_such() -> None:
    """A function of a symmetric matrix, the sizes of its vectors, and that they are orthogonal."""

    def made(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        values, vectors = linalg.eigh(x)
        return vectors @ torch.diag_embed(values.tanh()) @ vectors.mT, vectors.abs()

    x = matrix(3, 5, 5)
    assert_same(made, x, dynamic="auto")
    assert_same(made, x.double())


def test_eigenvalues_that_are_equal() -> None:
    def projected(x: torch.Tensor) -> Any:
        values, vectors = linalg.eigh(x)
        return vectors @ torch.diag_embed(values) @ vectors.mT

    assert_same(linalg.eigvalsh, torch.ones(4, 4))
    assert_same(projected, torch.ones(4, 4))
    assert_same(projected, torch.eye(3))


def test_another_size() -> None:
    size = torch.export.Dim("n")
    others = [[matrix(n, n, dtype=torch.float64)] for n in (2, 3, 8, 21)]
    dynamic = ({0: size, 1: size},)
    x = matrix(5, 5, dtype=torch.float64)
    assert_same(Call(linalg.eigvalsh), x, dynamic=dynamic, others=others)
    assert_same(Call(linalg.svdvals), x, dynamic=dynamic, others=others)


@pytest.mark.parametrize("sizes", OBLONG)
def test_singular_values(sizes: tuple[int, ...]) -> None:
    assert_same(linalg.svdvals, matrix(*sizes), dynamic="auto")


@pytest.mark.parametrize("full", [True, False])
@pytest.mark.parametrize("sizes", OBLONG)
def test_singular_vectors_are_such(sizes: tuple[int, ...], full: bool) -> None:
    def made(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left, values, right = linalg.svd(x, full_matrices=full)
        number = values.shape[-1]
        again = (left[..., :number] * values.unsqueeze(-2)) @ right[..., :number, :]
        return again, left.mT @ left, right @ right.mT, left[..., :number].abs()

    assert_same(made, matrix(*sizes))


def test_the_older_way_to_ask() -> None:
    def made(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        left, values, right = torch.svd(x)
        return (left * values.unsqueeze(-2)) @ right.mT, values

    assert_same(made, matrix(2, 5, 3))
    assert_same(lambda x: torch.svd(x, compute_uv=False), matrix(4, 3))


def test_of_sizes_that_vary() -> None:
    def polar(x: torch.Tensor) -> Any:
        left, _, right = linalg.svd(x, full_matrices=False)
        return left @ right

    dynamic = ({0: torch.export.Dim("rows"), 1: torch.export.Dim("columns")},)
    others = [[matrix(3, 6)], [matrix(7, 2)], [matrix(4, 4)]]
    assert_same(polar, matrix(5, 3), dynamic=dynamic, others=others)


def test_a_matrix_of_less_than_full_rank() -> None:
    x = matrix(5, 2) @ matrix(2, 4)
    assert_same(linalg.svdvals, x)
    assert_same(lambda x: linalg.svd(x)[0].mT @ linalg.svd(x)[0], x)
    assert_same(linalg.svdvals, torch.zeros(3, 3))


@pytest.mark.parametrize("order", ["nuc", 2, -2])
def test_norms(order: str | int) -> None:
    assert_same(lambda x: linalg.matrix_norm(x, ord=order), matrix(2, 4, 3))


def test_ranks_and_conditions() -> None:
    assert_same(linalg.matrix_rank, matrix(2, 4, 2) @ matrix(2, 2, 4), dynamic="auto")
    assert_same(linalg.cond, matrix(2, 4, 4), dynamic="auto")


def test_nothing() -> None:
    assert_same(linalg.svdvals, torch.empty(3, 0))
    assert_same(linalg.eigvalsh, torch.empty(0, 2, 2))


@pytest.mark.parametrize("opset", [13, 17, 23])
def test_opsets(opset: int) -> None:
    assert_same(linalg.svdvals, matrix(3, 4), opset=opset)
    assert_same(linalg.eigvalsh, matrix(3, 3), opset=opset)
