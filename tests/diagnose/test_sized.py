"""Which outputs have a size that the data decide, and which only one that a branch does."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import onnxpert


class BySizes(nn.Module):
    """Sizes decide in which of two ways an output is as long as the input makes it."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        thirds = x[::3] * 2 if x.shape[0] % 3 == 0 else torch.cat([x, x[:1]])
        return thirds.repeat(2, 1)


class ByValues(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[::3] * 2 if x.sum() > 0 else torch.cat([x, x[:1]])


class OnOneSide(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x[x[:, 0] > 0] if x.shape[0] % 3 == 0 else torch.cat([x, x[:1]])


class Behind(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        thirds = x[::3] * 2 if x.shape[0] % 3 == 0 else torch.cat([x, x[:1]])
        return thirds, thirds[thirds[:, 0] > 0]


@pytest.mark.parametrize(
    ("model", "told"), [(BySizes, ""), (ByValues, "0"), (OnOneSide, "0"), (Behind, "1")]
)
def test_only_data_make_a_size_that_nobody_knows_before(model: type[nn.Module], told: str) -> None:
    report = onnxpert.diagnose(model().eval(), (torch.randn(6, 2),), dynamic_shapes=({0: "n"},))
    found = [one.message for one in report.findings if one.rule == "SHP212"]
    wanted = f"the output {told} has a size that the data decide (axis 0)"
    assert found == ([wanted] if told else [])
