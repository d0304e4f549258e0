"""Arrays of numpy's that are made of sizes, and numpy itself, which stays what it is."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert

Tensor = torch.Tensor


class LaterOnes(nn.Module):
    """The mask of a decoder."""

    def forward(self, x: Tensor) -> Tensor:
        later = np.triu(np.ones((1, x.shape[1], x.shape[1])), k=1).astype("uint8")
        return x.unsqueeze(1).masked_fill(torch.from_numpy(later) == 1, -1.0)


class Anchors(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        rows, columns = np.arange(1.5, x.shape[0], 3), np.arange(1.5, x.shape[1], 3)
        places = np.stack([each.reshape(-1) for each in np.meshgrid(columns, rows)], 1)
        return torch.from_numpy(np.concatenate([places - 1, places + 1], 1).astype(np.float32))


class Sizes(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * torch.tensor(np.array([x.shape[0], x.shape[1]])).sum()


@pytest.mark.parametrize("model", [LaterOnes(), Anchors(), Sizes()])
def test_arrays_of_sizes(model: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(4, 7),), path, dynamic_shapes=({0: "rows", 1: "columns"},))
    assert np is sys.modules["numpy"]
    assert torch.from_numpy(np.ones(2)).dtype is torch.float64
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for shape in ((4, 7), (1, 1), (6, 2), (3, 12)):
        x = torch.randn(shape)
        feeds = {entry.name: x.numpy() for entry in session.get_inputs()}
        (got,) = session.run(None, feeds)
        np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


class OwnFunctions(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        bits = np.packbits(np.ones((x.shape[1],), dtype=bool))  # torch has no version of it
        return x * torch.from_numpy(bits).sum()


def test_what_torch_has_no_version_of_is_numpys_own() -> None:
    shapes = ({1: "columns"},)
    report = onnxpert.diagnose(OwnFunctions(), (torch.randn(4, 7),), dynamic_shapes=shapes)
    assert [each.rule for each in report.findings if each.rule != "DTY902"] == ["SHP201"]
    assert np is sys.modules["numpy"]
