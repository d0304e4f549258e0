"""What a first call makes and keeps is in the file as the example made it."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn

import onnxpert


class Scaled(nn.Module):
    """A number out of the sizes, by way of a tensor; found once."""

    def __init__(self) -> None:
        super().__init__()
        self.levels: list[int] | None = None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.levels is None:
            level = float(torch.tensor(float(x.shape[0]) / x.shape[0]).log2().round())
            self.levels = [int(2**level)] * 2
        return torch.cat([x[:: self.levels[0]] * self.levels[1]] * len(self.levels), 1)


class Kept(Scaled):
    """Nothing to keep: every call makes another."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.levels = None
        return super().forward(x)


def test_a_number_that_the_first_call_finds(tmp_path: Path) -> None:
    model = Scaled().eval()
    report = onnxpert.export(
        model, (torch.randn(4, 3),), tmp_path / "scaled.onnx", dynamic_shapes={"x": {0: "n"}}
    )
    assert report.ok
    assert [each.rule for each in report.findings] == ["STA302"]
    assert model.levels is None


def test_a_number_that_every_call_finds_is_told() -> None:
    report = onnxpert.diagnose(Kept().eval(), (torch.randn(4, 3),), dynamic_shapes={"x": {0: "n"}})
    assert "CTL405" in {each.rule for each in report.findings}
