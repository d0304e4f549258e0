"""How far the paths of a model are followed."""

import pytest
import torch

import onnxpert
from onnxpert.capture.forking import runs


class Twice(torch.nn.Module):
    def forward(self, x):
        y = x + 1 if x.sum() > 0 else x - 1
        return y * 2 if y.mean() > 1 else y


def test_paths_that_take_too_long_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert onnxpert.diagnose(Twice().eval(), (torch.randn(3),)).ok
    monkeypatch.setattr(runs, "_MOST_SECONDS", 0.0)
    monkeypatch.setattr(runs, "_FEW_RUNS", 0)
    report = onnxpert.diagnose(Twice().eval(), (torch.randn(3),))
    assert "CTL410" in {finding.rule for finding in report.findings}
    assert not report.ok
