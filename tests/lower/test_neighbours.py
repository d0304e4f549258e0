"""The next number: at zero, at powers of two, at the ends."""

from __future__ import annotations

import math

import pytest
import torch

from tests.lower.same import assert_same

EDGES = [0.0, -0.0, 1.0, -1.0, 1 + 2**-23, 2.0, 3.5, 1e-45, -3e-45, 2**-126, 2**-125, 1e30]
TOP = torch.finfo(torch.float32).max


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("towards", [math.inf, -math.inf, 0.0, 1.0])
def test_nextafter(dtype: torch.dtype, towards: float) -> None:
    x = torch.tensor([*EDGES, TOP, -TOP, math.inf, -math.inf, math.nan], dtype=dtype)
    other = torch.tensor(towards, dtype=dtype)
    # Differences of neighbours are below every tolerance: compared bit by bit.
    moved = torch.nextafter(x, other)
    assert_same(
        lambda a, b, want: torch.where(
            want.double().isnan(),
            a.double().isnan(),
            torch.nextafter(a, b).double() == want.double(),
        ),
        x,
        other,
        moved,
    )
