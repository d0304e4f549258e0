"""Writes to pieces of a tensor: what one of them asks about sizes, the next must not go by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert


class Shifted(nn.Module):
    """The larger shifts leave nothing of a narrow input."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = torch.zeros_like(x)
        for shift in range(1, 4):
            out[:, shift:] += x[:, :-shift]
        return out


class Volume(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        cost = x.new_zeros(x.shape[0], 4, x.shape[1])
        cost[:, 0] = x
        for shift in range(1, 4):
            cost[:, shift, shift:] = x[:, shift:] * x[:, :-shift]
        return cost


class Spread(nn.Module):
    """One row for all, and a number for the rest."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = x.clone()
        out[:, 1:] = x[:1, 1:]
        out[:, 2:] = x.sum()
        return out


@pytest.mark.parametrize("model", [Shifted(), Volume(), Spread()], ids=lambda m: type(m).__name__)
def test_pieces_that_are_empty_in_a_narrow_input(model: nn.Module, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    shapes = ({0: "rows", 1: "width"},)
    assert onnxpert.export(model.eval(), (torch.randn(2, 9),), path, dynamic_shapes=shapes).ok
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for rows, width in ((2, 9), (1, 1), (3, 2), (1, 3), (2, 4), (4, 17)):
        x = torch.randn(rows, width)
        np.testing.assert_allclose(model(x), session.run(None, {"x": x.numpy()})[0], atol=1e-6)
