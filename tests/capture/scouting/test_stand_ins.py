"""What stands in for a value that nobody can follow says nothing of the model's sizes."""

from __future__ import annotations

import numpy
import pytest
import torch
from torch import Tensor, nn

import onnxpert

TABLE = {"near": 1.0}


class Longer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        more = torch.cat([x, x[:1]])
        return torch.from_numpy(numpy.unwrap(more.numpy(), axis=0)) + more


class Twice(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.from_numpy(numpy.repeat(numpy.unwrap(x.numpy()), 2, axis=0))
        return y[::2] + x


@pytest.mark.parametrize("model", [Longer(), Twice()], ids=lambda model: type(model).__name__)
def test_no_size_is_said_to_be_fixed(model: nn.Module) -> None:
    report = onnxpert.diagnose(model, (torch.randn(4, 8),), dynamic_shapes=({0: "n"},))
    assert {one.rule for one in report.findings} == {"CTL402"}


class Cuts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(16, 8))

    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(numpy.unwrap(x.numpy())) + self.table[: x.shape[0]]


def test_what_the_model_says_of_its_sizes_is_told() -> None:
    report = onnxpert.diagnose(Cuts(), (torch.randn(4, 8),), dynamic_shapes=({0: "n"},))
    assert {one.rule for one in report.findings} == {"CTL402", "SHP203"}


class Raises(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.from_numpy(numpy.clip(x.numpy(), 0, 1)) * TABLE["far"]


def test_numpy_that_is_translated_is_no_error_beside_a_line_that_raises() -> None:
    report = onnxpert.diagnose(Raises(), (torch.randn(4, 8),))
    errors = {one.rule for one in report.findings if one.severity is onnxpert.Severity.ERROR}
    assert errors == {"INP112"}
