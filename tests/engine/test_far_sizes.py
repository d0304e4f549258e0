"""Assumptions on sizes that fail far from the example, and at a size of 1 only."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

import onnxpert
from onnxpert.core.types import Severity


class TwoRoundings(nn.Module):
    """Two lengths that are the same up to 240, and not at 241."""

    def forward(self, x: Any) -> Any:
        one = x[..., ::8][..., ::5]
        other = x[..., : x.shape[-1] - (x.shape[-1] // 16 + 1) // 15][..., ::40]
        return torch.cat([one, other], 1)


def test_a_length_far_above_the_example_is_tried() -> None:
    shapes = ({0: "batch", 2: "length"},)
    report = onnxpert.diagnose(TwoRoundings(), (torch.randn(2, 1, 100),), dynamic_shapes=shapes)
    assert any(row.sizes.get("length") == 241 for row in report.verified), str(report)


class Joint(nn.Module):
    """What comes out has one dimension less where there is one target only."""

    def forward(self, x: Any, y: Any) -> Any:
        return (x[:, :, None] + y[:, None, :]).unsqueeze(-1).squeeze(2)


def test_only_a_size_of_one_is_left_out() -> None:
    args = (torch.randn(2, 5), torch.randn(2, 4))
    shapes = ({1: torch.export.Dim.DYNAMIC}, {1: torch.export.Dim.DYNAMIC})
    report = onnxpert.diagnose(Joint(), args, dynamic_shapes=shapes)
    assert report.ok, str(report)
    assert [symbol.lower for symbol in report.symbols] == [1, 2]
    (told,) = [each for each in report.findings if each.rule == "SHP202"]
    assert told.severity is Severity.WARNING


def test_a_size_of_one_that_was_asked_for() -> None:
    args = (torch.randn(2, 5), torch.randn(2, 4))
    shapes = ({1: "time"}, {1: "targets"})
    report = onnxpert.diagnose(Joint(), args, dynamic_shapes=shapes)
    assert not report.ok
