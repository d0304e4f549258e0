"""Values that Python takes out of tensors: each is told at its line, and what is made of them holds."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.core.types import Finding, Severity


class Scales(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x / x.abs().max().item()  # read


class Lists(nn.Module):
    def forward(self, x: Tensor, lengths: Tensor) -> Tensor:
        sizes = lengths.tolist()  # read
        return torch.stack([x[row, :size].sum() for row, size in enumerate(sizes)])


class Warns(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if bool((x > 3).any()):  # read
            print("large")  # noqa: T201
        return x + 1


class Halves(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        while x.norm() > 1:  # read
            x = x / 2
        return x


class Tells(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        total = x.sum().item()  # read
        print(f"{total:.3f} {total}")  # noqa: T201
        return x * 2


class OfWeights(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.steps = nn.Parameter(torch.tensor([2.0, 3.0]))

    def forward(self, x: Tensor) -> Tensor:
        for _ in range(int(self.steps[1])):
            x = x * 2
        return x


class Spells(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, int]:
        return x, len(str(x.sum().item()))  # text


def _of(report: onnxpert.Report, rule: str) -> list[Finding]:
    return [finding for finding in report.findings if finding.rule == rule]


@pytest.mark.parametrize(
    ("model", "args"),
    [
        (Scales(), (torch.tensor([1.0, -2.0]),)),
        (Lists(), (torch.arange(6.0).view(2, 3), torch.tensor([3, 1]))),
        (Warns(), (torch.tensor([1.0, 2.0]),)),
        (Halves(), (torch.tensor([1.0, 2.0]),)),
        (Tells(), (torch.tensor([1.0, 2.0]),)),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_value_that_the_file_computes_is_told_at_its_line(
    model: nn.Module, args: tuple[Tensor, ...]
) -> None:
    report = onnxpert.diagnose(model.eval(), args)
    assert report.ok
    (found,) = _of(report, "CTL411")
    assert found.severity is Severity.INFO
    assert found.location is not None
    assert found.location.code.endswith("# read")


def test_a_number_of_the_weights_is_no_value_of_the_data() -> None:
    report = onnxpert.diagnose(OfWeights().eval(), (torch.ones(2),))
    assert report.ok
    assert not report.findings


def test_a_number_made_a_text_is_named_where_the_file_differs_for_it() -> None:
    report = onnxpert.diagnose(Spells().eval(), (torch.tensor([0.25, 0.5]),))
    (found,) = _of(report, "NUM701")
    assert "text" in found.message
    assert found.location is not None
    assert found.location.code.endswith("# text")
