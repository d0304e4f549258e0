"""Roots, polar parts and least squares."""

from __future__ import annotations

import pytest
import torch

from tests.lower.same import assert_same


@pytest.mark.parametrize("driver", ["gels", "gelsy", "gelsd", "gelss"])
@pytest.mark.parametrize("shape", [(5, 3), (3, 5), (4, 4), (2, 5, 3), (3, 0), (0, 3)])
def test_lstsq(shape: tuple[int, ...], driver: str) -> None:
    *batch, rows, _ = shape
    a, b = torch.randn(shape), torch.randn(*batch, rows, 2)
    assert_same(lambda a, b: tuple(torch.linalg.lstsq(a, b, driver=driver)), a, b)


def test_lstsq_of_a_vector() -> None:
    assert_same(lambda a, b: torch.linalg.lstsq(a, b)[0], torch.randn(4, 3), torch.randn(4, 1))


needs_new_torch = pytest.mark.skipif(
    not hasattr(torch.ops.aten, "linalg_polar"), reason="torch 2.15 and later"
)


@needs_new_torch
def test_square_root() -> None:
    x = torch.randn(2, 4, 4)
    assert_same(torch.ops.aten.linalg_matrix_sqrth, x @ x.mT, others=[(x + x.mT,)])


@needs_new_torch
def test_polar_parts() -> None:
    assert_same(torch.ops.aten.linalg_polar, torch.randn(2, 5, 3))
