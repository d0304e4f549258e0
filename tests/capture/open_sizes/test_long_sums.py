"""A number that is kept up to date value by value."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import onnxpert


class Welford(nn.Module):
    """Mean and variance in one pass: each step doubles what a sum written out would have."""

    def forward(self, x: Tensor) -> Tensor:
        count, mean, squares = 0, 0.0, 0.0
        for value in x.tolist():
            count += 1
            off = value - mean
            mean += off / count
            squares += off * (value - mean)
        return (x - mean) / (squares / count + 1e-6) ** 0.5


def test_a_long_sum_takes_as_long_as_it_has_values() -> None:
    # Seconds as it is; written out, some years: the limit is there to end those.
    report = onnxpert.diagnose(Welford().eval(), (torch.rand(40),), timeout=1000)
    assert report.ok
    assert {each.rule for each in report.findings} <= {"CTL411", "DTY902"}
