"""Weights that forward writes to: told, and as they were when all is done."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.core.types import Severity


class Clamped(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        self.linear.weight.data.clamp_(-0.1, 0.1)
        return self.linear(x)  # type: ignore[no-any-return]


class Rows(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rows = nn.Embedding(10, 4, max_norm=0.5)

    def forward(self, ids: Tensor) -> Tensor:
        return self.rows(ids) + self.rows(ids + 1)  # type: ignore[no-any-return]


class Tied(Rows):
    def forward(self, ids: Tensor) -> Tensor:
        return self.rows(ids) @ self.rows.weight.T  # type: ignore[no-any-return]


IDS = torch.tensor([[1, 2], [2, 3]])


@pytest.mark.parametrize(
    ("model", "x"), [(Clamped(), torch.ones(2, 4)), (Rows(), IDS), (Tied(), IDS)]
)
def test_weights_are_what_they_were(model: nn.Module, x: Tensor) -> None:
    before = [weight.detach().clone() for weight in model.eval().parameters()]
    report = onnxpert.diagnose(model, (x,))
    assert [finding.rule for finding in report.findings] == ["STA301"]
    assert all(map(torch.equal, model.parameters(), before))


def test_rows_that_are_made_short_before_each_look_are_in_the_file(tmp_path: Path) -> None:
    model, path = Rows().eval(), tmp_path / "model.onnx"
    report = onnxpert.export(model, (IDS,), path, dynamic_shapes={"ids": {0: "b", 1: "t"}})
    assert [finding.severity for finding in report.findings] == [Severity.INFO]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for turn in range(4):
        ids = torch.randint(0, 9, (turn + 1, 5))
        (got,) = session.run(None, {"ids": ids.numpy()})
        np.testing.assert_allclose(got, model(ids).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_rows_that_are_read_as_they_stand_too_remember_what_was_looked_up() -> None:
    report = onnxpert.diagnose(Tied().eval(), (IDS,))
    assert [finding.severity for finding in report.findings] == [Severity.ERROR]
