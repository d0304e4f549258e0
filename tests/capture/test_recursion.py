"""Functions that call themselves for as long as only the data know."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.capture.places import is_endless

_HERE = ("model.py", 7, "grow")


class Grows(nn.Module):
    def grow(self, x: Tensor, turns: int) -> Tensor:
        if x.sum() > 100:  # ends
            return x
        return self.grow(x * 2 + turns, turns + 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.grow(x.abs() + 1, 0)


class Repeats(nn.Module):
    def run(self, x: Tensor, turns: int) -> Tensor:
        if turns == 0:
            return x
        if x.sum() > 0:
            x = x - 1
        return self.run(x, turns - 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.run(x, 12)


def test_recursion_that_the_data_end_is_told_at_their_condition() -> None:
    report = onnxpert.diagnose(Grows().eval(), (torch.randn(3),))
    errors = [found.location for found in report.findings if found.severity == "error"]
    assert {place.code.rpartition("# ")[2] for place in errors if place} == {"ends"}


def test_recursion_of_a_known_depth_is_in_the_file() -> None:
    assert onnxpert.diagnose(Repeats().eval(), (torch.randn(3),)).ok


def test_a_line_that_has_called_itself_often_comes_to_no_end() -> None:
    assert is_endless([_HERE] * 65)
    assert not is_endless([_HERE] * 12 + [("model.py", line, "forward") for line in range(80)])
