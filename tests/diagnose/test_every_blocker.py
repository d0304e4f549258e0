"""Models with several problems: each is found in one run, at its line, and nothing else is said."""

from __future__ import annotations

import random
from typing import Any

import numpy
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import onnxpert
from onnxpert import Severity

STEPS = 0


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.calls = 0

    def forward(self, x: Tensor) -> Tensor:
        self.calls += 1  # STA302
        y = self.linear(x)
        return y + torch.from_numpy(numpy.unwrap(y.numpy()))  # CTL402


class Gate(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        if x.mean() > 0:  # which by itself is nothing in the way
            return x * 2
        return functional.dropout(x, 0.5)  # STA311


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: Tensor) -> Tensor:
        global STEPS  # noqa: PLW0603
        STEPS += 1  # STA307
        self.mean.mul_(0.9).add_(x.mean(0), alpha=0.1)  # STA301
        return torch.linalg.eigvals(x - self.mean).real  # OPS501


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder, self.gate, self.head = Encoder(), Gate(), Head()

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.gate(self.encoder(x))) * random.random()  # NUM703


class Fixes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x.reshape(4, 4) + torch.rand(4)  # NUM702


def planted() -> dict[str, set[int]]:
    with open(__file__, encoding="utf-8") as source:
        lines = source.read().splitlines()
    marks: dict[str, set[int]] = {}
    for number, line in enumerate(lines, 1):
        mark = line.rpartition("  # ")[2]
        if len(mark) == 6 and mark[:3].isalpha() and mark[3:].isdigit():
            marks.setdefault(mark, set()).add(number)
    return marks


def found(report: onnxpert.Report) -> dict[str, set[int]]:
    rules: dict[str, set[int]] = {}
    for finding in report.findings:
        if finding.severity is not Severity.INFO:
            assert finding.location is not None, finding
            assert finding.location.file == __file__
            rules.setdefault(finding.rule, set()).add(finding.location.line)
    return rules


def test_seven_problems_are_seven_findings() -> None:
    torch.manual_seed(1)
    x = torch.full((4, 4), -1.0)
    model = Model().eval()
    nn.init.constant_(model.encoder.linear.bias, -5.0)  # so that the gate is closed
    report = onnxpert.diagnose(model, (x,))
    wanted = {rule: lines for rule, lines in planted().items() if rule != "NUM702"}
    assert found(report) == wanted


def test_a_frozen_size_does_not_hide_a_random_result() -> None:
    report = onnxpert.diagnose(Fixes().eval(), (torch.randn(4, 4),), dynamic_shapes=({0: "rows"},))
    assert {"SHP201", "NUM702"} <= found(report).keys()


@pytest.mark.parametrize(
    ("model", "args"),
    [
        (nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5), nn.LayerNorm(4)), (torch.randn(2, 4),)),
        (
            nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU()),
            (torch.rand(1, 1, 8, 8),),
        ),
        (nn.LSTM(3, 4, batch_first=True), (torch.randn(2, 5, 3),)),
        (nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), (torch.randn(2, 3, 8),)),
        (nn.EmbeddingBag(10, 3), (torch.tensor([[1, 2], [3, 4]]),)),
    ],
    ids=["mlp", "cnn", "lstm", "transformer", "bag"],
)
def test_a_model_that_is_fine_is_left_in_peace(model: nn.Module, args: Any) -> None:
    report = onnxpert.diagnose(model.eval(), args)
    assert report.ok
    assert report.findings == ()


def test_an_index_out_of_range_is_found_though_a_graph_could_be_made() -> None:
    report = onnxpert.diagnose(nn.Embedding(4, 2).eval(), (torch.tensor([1, 7]),))
    (finding,) = report.findings
    assert finding.rule == "INP118"
    assert "the largest value of input is 7" in finding.notes


class Draws(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.bernoulli(torch.full_like(x, 0.5))


class DropsPaths(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.bernoulli(torch.full_like(x, 0.5)) if self.training else x


def test_training_mode_is_blamed_only_for_what_evaluation_would_change() -> None:
    args = (torch.ones(2, 3),)
    drawn = onnxpert.diagnose(nn.Sequential(nn.Linear(3, 3), Draws()), args)
    assert [finding.rule for finding in drawn.findings] == ["NUM702"]
    dropped = onnxpert.diagnose(nn.Sequential(nn.Linear(3, 3), DropsPaths()), args)
    assert [finding.rule for finding in dropped.findings] == ["STA303"]


class FixesTwo(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mask", torch.tril(torch.ones(5, 5)))

    def forward(self, x: Tensor) -> Tensor:
        y = x.view(2, x.shape[1], 8)  # batch
        return (y @ y.transpose(1, 2)) * self.mask  # time


def test_each_frozen_size_has_the_line_that_fixed_it() -> None:
    shapes = ({0: "batch", 1: "time"},)
    report = onnxpert.diagnose(FixesTwo().eval(), (torch.randn(2, 5, 8),), dynamic_shapes=shapes)
    lines = [f.location.code for f in report.findings if f.rule == "SHP201" and f.location]
    assert [line.rpartition("# ")[2] for line in lines] == ["batch", "time"]


class WritesInBranch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("hits", torch.zeros(3))

    def forward(self, x: Tensor) -> Tensor:
        if x.sum() > 0:
            self.hits[0] += 1  # write
        return x * 2


def test_a_write_within_a_branch_has_its_own_line() -> None:
    report = onnxpert.diagnose(WritesInBranch().eval(), (torch.ones(3),))
    (finding,) = (f for f in report.findings if f.rule == "STA301")
    assert finding.location is not None
    assert finding.location.code.endswith("# write")
