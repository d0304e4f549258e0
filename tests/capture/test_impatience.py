"""A run that has become long is rolled, but not where a question left it one size."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.capture import recorder


class Filled(nn.Module):
    """Cut and filled to a length, which is a case of its own."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.shape[1] > 40:
            x = x[:, :40]
        if x.shape[1] != 40:
            x = nn.functional.pad(x, (0, 40 - x.shape[1]))
        for _ in range(12):
            x = torch.tanh(x)
        return x


def test_a_side_of_one_size_is_no_long_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "_WATCHED", 4)
    dims = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    report = onnxpert.export(
        Filled(), (torch.randn(2, 12),), tmp_path / "m.onnx", dynamic_shapes=(dims,)
    )
    assert report.outputs == ("output: float32[batch, 40]",)  # rolled, nothing would be known of it
    assert {40, 41} <= {row.sizes["sequence"] for row in report.verified}
