"""Numbers that a model computes from sizes with tensors stay sizes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

import onnxpert


class Padded(nn.Module):
    """Pads so that the last window is full, and computes by how much with tensors."""

    stride: torch.Tensor
    kernel: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 5, stride=3)
        self.register_buffer("stride", torch.tensor(3), persistent=False)
        self.register_buffer("kernel", torch.tensor(5), persistent=False)

    def forward(self, x: Any) -> Any:
        windows = torch.ceil((x.shape[-1] - self.kernel) / self.stride).to(torch.int64) + 1
        extra = (windows - 1) * self.stride + self.kernel - x.shape[-1]
        return self.conv(functional.pad(x, (0, extra)))


class Overwritten(nn.Module):
    """What is written into such a number is not forgotten."""

    two: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("two", torch.tensor(2), persistent=False)

    def forward(self, x: Any) -> Any:
        count = x.shape[-1] * self.two
        count += self.two
        return functional.pad(x, (0, count))


def outcome(model: nn.Module) -> onnxpert.Report:
    torch.manual_seed(0)
    shapes = ({0: "batch", 2: "length"},)
    return onnxpert.diagnose(model.eval(), (torch.randn(2, 1, 21),), dynamic_shapes=shapes)


def test_a_padding_that_is_computed_with_tensors_is_a_size() -> None:
    report = outcome(Padded())
    assert report.ok, str(report)
    assert "SHP212" not in str(report)  # no size that only the data know


def test_a_number_that_was_written_to() -> None:
    report = outcome(Overwritten())
    assert report.ok, str(report)
