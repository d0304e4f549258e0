"""A run that has become long is rolled, but not where a question left it one size."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.capture import recorder
from onnxpert.capture.strategies import recorded


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


class Growing(nn.Module):
    """Each turn makes all that the ones before left behind anew: no trace of it folds."""

    def forward(self, x: Tensor) -> Tensor:
        rows: list[Tensor] = []
        for row in x:
            rows = [one + 1 for one in rows] + [row]
        return torch.stack(rows)


def test_what_no_lengths_tell_is_not_asked_of_other_lengths(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tried: list[Any] = []
    plain = recorded.rolled

    def counted(*given: Any) -> Any:
        tried.append(plain(*given))
        return tried[-1]

    monkeypatch.setattr(recorded, "rolled", counted)
    x = torch.randn(5, 2)
    report = onnxpert.export(Growing(), (x,), tmp_path / "m.onnx", dynamic_shapes=({0: "n"},))
    assert report.ok
    assert tried == [None]
