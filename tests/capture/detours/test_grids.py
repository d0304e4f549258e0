"""Grids as large as a size says."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn
from torch.nn import functional

from tests.capture.open_sizes.models import assert_same


class Warped(nn.Module):
    def __init__(self, *, named: bool) -> None:
        super().__init__()
        self.theta = nn.Parameter(torch.tensor([[1.0, 0.1, 0.0], [0.0, 1.0, 0.2]]))
        self.named = named

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        theta = self.theta.expand(x.shape[0], 2, 3)
        if self.named:
            grid = functional.affine_grid(theta=theta, size=list(x.shape), align_corners=False)
        else:
            grid = functional.affine_grid(theta, x.shape, False)
        return functional.grid_sample(x, grid, align_corners=False)


@pytest.mark.parametrize("named", [False, True])
def test_the_least_of_its_sizes_bounds_no_other(named: bool, tmp_path: Path) -> None:
    sizes = ((1, 3, 8, 8), (5, 3, 8, 8), (9, 3, 2, 4))
    shapes = ({0: "batch", 2: "height", 3: "width"},)
    report = assert_same(Warped(named=named), (2, 3, 8, 6), sizes, shapes, tmp_path / "m.onnx")
    assert not [found.rule for found in report.findings]
