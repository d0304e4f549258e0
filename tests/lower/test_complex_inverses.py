"""Arcs of complex numbers: all quadrants, both sides of every cut, and the cuts themselves."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from tests.lower.same import assert_same

ARCS: tuple[Callable[[torch.Tensor], torch.Tensor], ...] = (
    torch.asin, torch.acos, torch.atan, torch.asinh, torch.acosh, torch.atanh,
)  # fmt: skip
REAL = (-3.0, -0.7, 0.0, 0.4, 2.5)
NUMBERS = torch.tensor([[complex(a, b) for a in REAL] for b in (-2.0, -0.3, 0.3, 1.5)])
# On the cuts, from above: what torch says there depends on the sign of a zero.
CUTS = torch.tensor([complex(-2.0, 0.0), complex(2.0, 0.0), complex(0.5, 0.0), complex(0.0, 0.5)])


@pytest.mark.parametrize("arc", ARCS, ids=lambda arc: arc.__name__)
@pytest.mark.parametrize("dtype", [torch.complex64, torch.complex128])
def test_arcs(arc: Callable[[torch.Tensor], torch.Tensor], dtype: torch.dtype) -> None:
    assert_same(arc, NUMBERS.to(dtype))


@pytest.mark.parametrize("arc", ARCS, ids=lambda arc: arc.__name__)
def test_on_the_cuts(arc: Callable[[torch.Tensor], torch.Tensor]) -> None:
    assert_same(arc, CUTS)
