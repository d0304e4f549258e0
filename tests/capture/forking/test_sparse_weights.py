"""Branches and loops of a model whose weights are sparse: those have no memory of the usual kind."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Mixes(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.near: Tensor = nn.Buffer((torch.eye(4) * 2).to_sparse())
        self.far: Tensor = nn.Buffer(torch.ones(4, 4).to_sparse())


class Branches(Mixes):
    def forward(self, x: Tensor) -> Tensor:
        y = torch.sparse.mm(self.near, x)
        if y.sum() > 0:
            return torch.sparse.mm(self.far, y)
        return y


class Turns(Mixes):
    def forward(self, x: Tensor) -> Tensor:
        turns = 0
        while x.abs().max() < 100 and turns < 9:
            x = torch.sparse.mm(self.near, x) + 1
            turns += 1
        return x


@pytest.mark.parametrize("kind", [Branches, Turns])
def test_a_sparse_weight_is_no_obstacle_to_flow(kind: type[nn.Module]) -> None:
    report = onnxpert.diagnose(kind().eval(), (torch.rand(4, 3),))
    assert report.ok, str(report)
