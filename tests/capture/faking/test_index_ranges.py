"""An index compared with a number beyond what it can point at is no question."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import onnxpert


class Experts(nn.Module):
    """Goes through the experts that are chosen, and passes over one that there is not."""

    def __init__(self, beyond: int) -> None:
        super().__init__()
        self.beyond = beyond
        self.weights = nn.Parameter(torch.randn(3, 4, 4))

    def forward(self, x: Any) -> Any:
        chosen = nn.functional.one_hot(x[:, :3].argmax(-1), 3).T
        out = torch.zeros_like(x)
        for expert in chosen.sum(-1).nonzero():
            index = expert[0]
            if index == self.beyond:
                continue
            (rows,) = torch.where(chosen[index])
            out.index_add_(0, rows, x[rows] @ self.weights[index])
        return out


def test_an_expert_that_there_is_not() -> None:
    torch.manual_seed(0)
    args = (torch.randn(6, 4),)
    report = onnxpert.diagnose(Experts(3).eval(), args, dynamic_shapes=({0: "tokens"},))
    assert report.ok, str(report)


@pytest.mark.parametrize("limit", [-1, 0, 4, 5, 6])
def test_comparisons_at_the_ends(limit: int) -> None:
    class Compares(nn.Module):
        def forward(self, x: Any) -> Any:
            best = x.argmax(-1)[0]
            scaled = x * 2 if best < limit else x
            return scaled + 1 if best >= limit else scaled

    torch.manual_seed(0)
    report = onnxpert.diagnose(Compares().eval(), (torch.randn(3, 5),))
    assert report.ok, str(report)
    branches = {finding.rule for finding in report.findings} & {"CTL406", "CTL409"}
    assert bool(branches) == (0 < limit < 5), str(report)


def test_a_value_is_the_number_that_was_read_from_it() -> None:
    class Counts(nn.Module):
        def forward(self, x: Any) -> Any:
            most = (x > 0).sum(-1).max()
            made = x.new_zeros(x.shape[0], most.item())
            assert list(made.shape) == [x.shape[0], most]
            return made + 1

    torch.manual_seed(0)
    report = onnxpert.diagnose(Counts().eval(), (torch.randn(3, 5),))
    assert report.ok, str(report)
    assert "CTL404" not in str(report), str(report)
