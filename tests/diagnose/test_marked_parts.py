"""The part of a line that a finding marks, and what else is told of the same line."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import onnxpert


class Either(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.sum() < 5 and x.max() > -9 and x.shape[0] < 9:
            return x * 2
        return x


def test_the_whole_condition_is_marked() -> None:
    report = onnxpert.diagnose(Either(), (torch.rand(4, 3),))
    (found,) = {one.location for one in report.findings if one.rule == "CTL406"}
    assert found is not None
    text = " " * 8 + found.code
    assert text[found.column - 1 : found.end_column - 1] == found.code[3:-1]


class Both(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return torch.linalg.eigvals(x), x.to_mkldnn()


def test_an_operator_is_told_beside_what_nothing_can_follow_on_its_line() -> None:
    report = onnxpert.diagnose(Both(), (torch.rand(3, 3),))
    errors = [one for one in report.findings if one.severity is onnxpert.Severity.ERROR]
    # torch 2.15 follows the call as far as an operator without a lowering.
    assert {one.rule for one in errors} <= {"OPS501", "CAP001"}
    assert len({one.location.column for one in errors if one.location is not None}) == 2


class Resizes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.out = nn.Buffer(torch.empty(0))

    def forward(self, x: Tensor) -> Tensor:
        self.out.resize_as_(x)
        self.out.copy_(x)
        return self.out * 2


def test_a_buffer_that_is_resized_is_what_it_was() -> None:
    model = Resizes()
    report = onnxpert.diagnose(model, (torch.rand(4, 3),))
    assert {"STA301", "OPS501"} <= {one.rule for one in report.findings}
    assert model.out.shape == (0,)
