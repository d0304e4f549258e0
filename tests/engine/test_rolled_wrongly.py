"""Loops that a few lengths told wrongly: the proof says so, and the lines tell what they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor

import onnxpert


class RowsInTurns(torch.nn.Module):
    """Each turn goes through all rows."""

    def forward(self, x: Tensor) -> Tensor:
        rows, v = x, x.mean(0)
        for i in range(1, x.shape[0]):
            v = torch.tanh(v + x[i])
            rows = torch.stack([x[j] * (j + 1) for j in range(x.shape[0])]) / x.shape[0]
        return rows.sum(0) + v


class TurnsBeforeSides(torch.nn.Module):
    """Every other row first, and all but one on one side of what follows."""

    def forward(self, x: Tensor) -> Tensor:
        a, b = x * 0.9, torch.tanh(x)
        for _ in range(0, x.shape[0], 2):
            b = torch.tanh(a + b)
        if a.sum() > 0:
            return b
        for _ in range(1, x.shape[0]):
            a[1:] = b[1:] * 0.5 + a[1:]
        return a


@pytest.mark.parametrize("kind", [RowsInTurns, TurnsBeforeSides])
def test_it_is_right_at_every_length(kind: type[torch.nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "model.onnx"
    onnxpert.export(model, (torch.randn(6, 3),), path, dynamic_shapes={"x": {0: "n"}})
    session = ort.InferenceSession(path)
    for rows in (1, 2, 3, 5, 9):
        for shift in (-1, 0, 1):
            x = torch.randn(rows, 3) + shift
            (found,) = session.run(None, {"x": x.numpy()})
            np.testing.assert_allclose(found, model(x.clone()).numpy(), rtol=1e-4, atol=1e-5)
