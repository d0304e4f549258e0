"""Opsets 11 and 12: the same operators in their older forms."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import nn

import onnxpert

F = nn.functional
X = torch.randn(2, 3, 4, 4)

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "axes": lambda x: (x.unsqueeze(1).sum(2), x.sum((2, 3), keepdim=True).squeeze(-1)),
    "split": lambda x: x.split([1, 2], 1),
    "softmax": lambda x: (x.softmax(1), x.softmax(-1), x.log_softmax(0)),
    "resize": lambda x: (F.interpolate(x, scale_factor=2.0), F.interpolate(x, (3, 3), mode="bilinear")),
    "compare": lambda x: (x >= 0.1, x <= x.mean(), x.clamp(min=0)),
    "pool": lambda x: (F.max_pool2d(x, 2), F.adaptive_avg_pool2d(x, 1), F.hardswish(x)),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
    "statistics": lambda x: (x.std(1), x.var(), x.logsumexp(1), x.cumsum(1), x.topk(2)),
}  # fmt: skip


class Calls(nn.Module):
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: torch.Tensor) -> Any:
        return self.function(x)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("opset", [11, 12])
def test_it_runs_and_agrees(name: str, opset: int, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = Calls(FUNCTIONS[name])
    onnxpert.export(model, (X,), path, opset_version=opset, dynamic_shapes="auto")
    assert onnx.load(path).opset_import[0].version == opset


def test_what_they_do_not_have_is_named_with_the_opset_that_has_it() -> None:
    report = onnxpert.diagnose(Calls(lambda x: torch.dropout(x, 0.5, True)), (X,), opset_version=11)
    assert "OPS502" not in {finding.rule for finding in report.findings}  # there are other ways
    report = onnxpert.diagnose(Calls(lambda x: x.long() & 3), (X,), opset_version=11)
    assert [finding.rule for finding in report.findings] == ["OPS502"]
    assert "opset_version=18" in report.findings[0].help


def test_below_them_one_reason_is_enough() -> None:
    report = onnxpert.diagnose(Calls(lambda x: x + 1), (X,), opset_version=9)
    assert [finding.rule for finding in report.findings] == ["VER601"]
