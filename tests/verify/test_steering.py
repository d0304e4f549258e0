"""Sides of branches that no scaled or shifted example takes, found by going where the condition leads."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.core.types import Verdict


class Scores(nn.Module):
    """What a sigmoid gives stays near the middle, however large the input."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.net = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 1), nn.Sigmoid())

    def forward(self, x: Tensor) -> Tensor:
        score = self.net(x).mean()
        if score > 0.7:
            return x * 2
        if score < 0.3:
            return -x
        return x


class Points(nn.Module):
    """The direction of a mean, asked once as a tensor and once as a number."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.ref, self.lin = nn.Parameter(torch.randn(8)), nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        mean = self.lin(x).mean(0)
        near = torch.cosine_similarity(mean, self.ref, dim=0)
        if near > 0.8:
            return mean
        if near.item() < -0.8:
            return -mean
        return mean * 0


class Normalises(nn.Module):
    """Of what a norm makes, the scale of the input decides nothing."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(3)
        self.norm, self.lin = nn.LayerNorm(8), nn.Linear(8, 1)

    def forward(self, x: Tensor) -> Tensor:
        h = self.lin(self.norm(x))
        return x * 2 if (h > 1.5).any() else x


@pytest.mark.parametrize("kind", [Scores, Points, Normalises])
def test_a_threshold_behind_layers_is_crossed(kind: type[nn.Module]) -> None:
    torch.manual_seed(0)
    report = onnxpert.diagnose(kind().eval(), (torch.randn(4, 8),), dynamic_shapes=({0: "n"},))
    assert report.ok, str(report)
    assert "CTL409" not in {one.rule for one in report.findings}
    led = [row for row in report.verified if row.case.startswith("values that lead to line")]
    assert led
    assert all(row.verdict is Verdict.PASS for row in led)


class Never(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2 if x.tanh().sum() > x.numel() else x


def test_a_side_that_nothing_leads_to_is_told() -> None:
    report = onnxpert.diagnose(Never(), (torch.randn(4, 8),))
    assert report.ok, str(report)
    assert "CTL409" in {one.rule for one in report.findings}
