"""The exponential, the powers and the pseudo-inverse of matrices, beside torch's own."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same

linalg = torch.linalg


def matrix(*sizes: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(sum(sizes))
    return torch.randn(*sizes, dtype=dtype)


@pytest.mark.parametrize("factor", [0.0, 1e-3, 1.0, 3.0])
def test_exponential(factor: float) -> None:
    assert_same(torch.matrix_exp, matrix(3, 4, 4) * factor, dynamic="auto")


def test_exponential_of_matrices_of_different_size() -> None:
    x = matrix(3, 4, 4, dtype=torch.float64) * torch.tensor([1e-4, 1.0, 6.0]).view(3, 1, 1)
    assert_same(linalg.matrix_exp, x)
    assert_same(linalg.matrix_exp, torch.empty(0, 2, 2))


@pytest.mark.parametrize("power", [0, 1, 2, 5, -1, -3])
def test_powers(power: int) -> None:
    x = matrix(2, 3, 3) + 3 * torch.eye(3)
    assert_same(lambda x: linalg.matrix_power(x, power), x, dynamic="auto")


@pytest.mark.parametrize("sizes", [(3, 3), (4, 2), (2, 2, 5)])
def test_pseudo_inverse(sizes: tuple[int, ...]) -> None:
    assert_same(linalg.pinv, matrix(*sizes), dynamic="auto")
    assert_same(torch.pinverse, matrix(*sizes))


def test_pseudo_inverse_of_less_than_full_rank() -> None:
    x = matrix(4, 2) @ matrix(2, 5)
    assert_same(linalg.pinv, x)
    assert_same(linalg.pinv, torch.zeros(2, 3))
    assert_same(lambda x: linalg.pinv(x, hermitian=True), x[:, :4] + x[:, :4].mT)


def test_what_counts_as_none() -> None:
    x = torch.diag(torch.tensor([3.0, 1.0, 1e-2]))
    assert_same(lambda x: linalg.pinv(x, rtol=0.1), x)
    assert_same(lambda x: linalg.pinv(x, atol=2.0), x)
    assert_same(lambda x: linalg.pinv(x, atol=1e-3, rtol=0.5), x)


def test_tensors_as_matrices() -> None:
    x = matrix(2, 3, 6) + torch.eye(6).reshape(2, 3, 6) * 4
    assert_same(lambda x: linalg.tensorinv(x, ind=2), x)
    assert_same(linalg.tensorsolve, x, matrix(2, 3))
