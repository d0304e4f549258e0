"""Smallest sizes: what a file says of them is what its proof has seen."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

import onnxpert
import onnxpert.engine.pipeline


class Strided(nn.Module):
    """torch asks whether what the convolution leaves is 1, and takes it that there are three."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 3, 3, stride=2, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.conv(x)
        return y * torch.arange(y.shape[-1])


class Shorter(nn.Module):
    """torch takes it that one is longer than the other, and the other at least two."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x[:, : y.shape[1]] + y[:, : x.shape[1]]


class Wide(nn.Module):
    """Its kernel does not fit into less than five."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(3, 3, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(x).relu()


class Squeezing(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x * 2).squeeze(1)


def _range(path: Path) -> str:
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    return metadata["onnxpert.dim.n"]


def test_what_only_the_capture_asked_is_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    x = torch.randn(2, 3, 9)
    model = Strided().eval()
    report = onnxpert.export(model, (x,), path, dynamic_shapes=({2: "n"},))
    assert not [found for found in report.findings if found.rule.startswith("SHP")]
    assert _range(path) == "1.."
    assert onnxpert.verify(path, model, (x,)).ok


def test_what_follows_from_another_size_is_no_limit(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    args = torch.randn(2, 9), torch.randn(2, 5)
    report = onnxpert.export(Shorter(), args, path, dynamic_shapes=({1: "n"}, {1: "m"}))
    assert not [found for found in report.findings if found.rule.startswith("SHP")]
    assert _range(path) == "1.."


def test_what_the_model_refuses_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = onnxpert.export(
        Wide().eval(), (torch.randn(2, 3, 9),), path, dynamic_shapes=({2: "n"},)
    )
    assert _range(path) == "5.."
    assert "SHP203" in [found.rule for found in report.findings]


def test_the_users_own_word_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    dim = torch.export.Dim("n", min=3)
    onnxpert.export(Strided().eval(), (torch.randn(2, 3, 9),), path, dynamic_shapes=({2: dim},))
    assert _range(path) == "3.."


def test_another_number_of_axes_is_not_looked_for_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file has an output of two ranks: the size is narrowed, and nothing else is tried."""
    turns = []
    plain = onnxpert.engine.pipeline.capture
    monkeypatch.setattr(
        onnxpert.engine.pipeline, "capture", lambda loaded: turns.append(loaded) or plain(loaded)
    )
    dynamic = torch.export.Dim.DYNAMIC
    report = onnxpert.export(
        Squeezing(), (torch.randn(2, 7),), tmp_path / "m.onnx", dynamic_shapes=({1: dynamic},)
    )
    assert report.ok
    assert len(turns) == 2
    (said,) = [found for found in report.findings if found.rule.startswith("SHP")]
    assert said.rule == "SHP202"  # and not that the model takes 2 and more: it does take 1
    assert "another number of axes" in said.message
