"""Outputs that are numbers and no tensors."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.lower.emitter import Emitter, Refusal


class Counts(nn.Module):
    def forward(self, x: torch.Tensor) -> Any:
        return x * 2, x.shape[0]


def test_a_number_that_nothing_in_the_graph_says_is_a_finding(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Emitter.scalar

    def scalar(self: Emitter, value: Any, *rest: Any) -> Any:
        if isinstance(value, torch.SymInt):
            raise Refusal("the size s0 is not known at this place of the graph")
        return plain(self, value, *rest)

    monkeypatch.setattr(Emitter, "scalar", scalar)
    report = onnxpert.diagnose(Counts(), (torch.randn(3, 2),), dynamic_shapes=({0: "n"},))
    (found,) = [each for each in report.findings if each.rule == "OPS501"]
    assert not report.ok
    assert "output" in found.message
    assert "is not known at this place" in found.message
