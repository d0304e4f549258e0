"""Half precision beside the same model in float32: rounding is forgiven, errors are not."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

import onnxpert
from onnxpert.verify.wider import distances


def test_a_file_nearer_to_the_truth_than_the_model() -> None:
    exact = torch.tensor([1.0, 2.0])
    found = distances(torch.tensor([1.1, 2.0]), np.array([1.01, 2.0], np.float32), exact)
    assert found is not None
    assert found.is_nearer
    assert round(found.model, 3) == 0.1


def test_a_file_that_is_further_off() -> None:
    exact = torch.tensor([1.0, 2.0])
    found = distances(torch.tensor([1.01, 2.0]), np.array([1.1, 2.0], np.float32), exact)
    assert found is not None
    assert not found.is_nearer


def test_nan_is_never_nearer() -> None:
    assert distances(torch.ones(2), np.array([np.nan, 1.0]), torch.ones(2)) is None


def test_a_grid_that_torch_samples_coarsely() -> None:
    """torch computes the places in bfloat16, up to a third of a pixel off."""

    class Samples(nn.Module):
        def forward(self, x: torch.Tensor, grid: torch.Tensor) -> torch.Tensor:
            return nn.functional.grid_sample(x, grid, align_corners=False)

    torch.manual_seed(0)
    x, grid = torch.randn(2, 4, 6, 6), torch.rand(2, 3, 3, 2) * 2 - 1
    report = onnxpert.diagnose(Samples(), (x.bfloat16(), grid.bfloat16()))
    assert report.ok, report.findings
