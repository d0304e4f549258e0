"""Where a size is fixed that was to vary, when another line is the one that raises."""

from __future__ import annotations

import torch
from torch import Tensor, nn

import onnxpert

BATCH = 4


class Folds(nn.Module):
    """The view takes every batch, and gives another width; what is stacked with it does not."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Linear(7, 8)
        self.table = nn.Embedding(10, 8)

    def forward(self, x: Tensor, ids: Tensor) -> Tensor:
        y = self.dense(x).view(BATCH, -1)  # view
        return torch.stack([y, self.table(ids)], 1)  # stack


def test_the_line_that_fixed_a_size_is_told_once() -> None:
    report = onnxpert.diagnose(
        Folds().eval(),
        (torch.randn(4, 7), torch.tensor([1, 2, 3, 4])),
        dynamic_shapes=({0: "batch"}, {0: "batch"}),
    )
    told = [(f.rule, f.location.code.rpartition("# ")[2]) for f in report.findings if f.location]
    serious = [f for f in report.findings if f.severity is not onnxpert.Severity.INFO]
    assert ("SHP201", "view") in told
    assert [f.rule for f in serious] == ["SHP201"], str(report)
