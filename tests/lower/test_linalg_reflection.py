"""QR and its compact form, with LAPACK's signs, beside torch's own."""

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
    torch.manual_seed(sum(sizes))
    return torch.randn(*sizes, dtype=dtype)


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("sizes", [(4, 4), (5, 3), (3, 5), (2, 4, 3)])
def test_qr(sizes: tuple[int, ...], mode: str) -> None:
    assert_same(lambda x: linalg.qr(x, mode=mode), matrix(*sizes))


def test_sizes_that_vary() -> None:
    dynamic = ({0: torch.export.Dim("rows"), 1: torch.export.Dim("columns")},)
    others = [[matrix(3, 6)], [matrix(8, 2)], [matrix(4, 4)]]
    assert_same(Call(linalg.qr), matrix(5, 3), dynamic=dynamic, others=others)


def test_in_double() -> None:
    assert_same(linalg.qr, matrix(2, 6, 4, dtype=torch.float64), dynamic="auto")


def test_columns_with_nothing_to_reflect() -> None:
    assert_same(linalg.qr, torch.tensor([[-2.0, 1.0], [0.0, -3.0], [0.0, 0.0]]))
    assert_same(linalg.qr, torch.eye(3))


def test_compact_form() -> None:
    assert_same(torch.geqrf, matrix(5, 3))
    assert_same(torch.geqrf, matrix(2, 3, 4))
    vectors, factors = torch.geqrf(matrix(2, 5, 3))
    assert_same(linalg.householder_product, vectors, factors, dynamic="auto")


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("transpose", [True, False])
def test_applied(left: bool, transpose: bool) -> None:
    vectors, factors = torch.geqrf(matrix(4, 3))
    other = matrix(4, 2) if left else matrix(2, 4)
    assert_same(lambda a, t, c: torch.ormqr(a, t, c, left, transpose), vectors, factors, other)
