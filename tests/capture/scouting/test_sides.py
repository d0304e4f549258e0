"""What stands on the side of a branch that the example does not take."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from onnxpert import diagnose
from onnxpert.capture import capture
from onnxpert.core.types import CaptureFailed, Request
from onnxpert.load import load


class Sided(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.misses = 0

    def forward(self, x: Tensor) -> Any:
        if x.sum() > 100:  # branch
            self.misses += 1  # state
            y = torch.linalg.eigvals(x).abs()  # op
            if y.max() > 5:  # branch
                x = x + torch.rand(2, 2)  # chance
        if x.min() > 1000:  # branch
            raise ValueError("too large")
        return x * len(x.numpy())  # array


def test_the_other_sides_are_looked_at_too_one_behind_the_other() -> None:
    model = Sided().eval()
    report = diagnose(model, (torch.ones(2, 2),))
    found = {
        (finding.rule, finding.location.code.partition("# ")[2])
        for finding in report.findings
        if finding.location is not None
    }
    assert {
        ("CTL401", "branch"), ("STA302", "state"), ("OPS501", "op"), ("NUM704", "chance"),
        ("CTL402", "array"),
    } <= found  # fmt: skip
    assert model.misses == 0


class Slices(nn.Module):
    def forward(self, x: Tensor, n: Tensor) -> Any:
        y = x[:, : n.item()]
        z = nn.functional.scaled_dot_product_attention(y, y, y)
        return z, int(n) % 3 == 0 and x.numpy().sum()


def test_what_an_operator_asks_about_its_sizes_is_no_branch_of_the_users() -> None:
    found = capture(load(Request(Slices().eval(), (torch.randn(1, 4, 4), torch.tensor(2)))))
    assert isinstance(found, CaptureFailed)
    lines = [one.location.code for one in found.blockers if one.location is not None]
    assert not any("attention" in line for line in lines)
