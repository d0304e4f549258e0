"""A text as the state of a loop, or as what a branch leaves behind."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime as ort
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class States(nn.Module):
    """Each turn asks in which state the one before left it."""

    def forward(self, x: Tensor) -> Tensor:
        mode, y = "rise", x.new_zeros(())
        for i in range(x.shape[0]):
            if mode == "rise":
                y = y + x[i]
                if x[i] > 0.5:
                    mode = "fall"
            elif mode == "fall":
                y = y * 0.5
                if x[i] < 0:
                    mode = "rest"
            else:
                y = y - x[i]
                mode = "rise"
        return y + 100 if mode == "fall" else y


class Table(nn.Module):
    after = {"up": "down", "down": "flat", "flat": "up"}  # noqa: RUF012
    scale = {"up": 2.0, "down": 0.5, "flat": 1.0}  # noqa: RUF012

    def forward(self, x: Tensor) -> Tensor:
        mode, y = "flat", x.new_zeros(())
        for value in x:
            y = y * self.scale[mode] + value
            if value > 0.3 and mode in ("flat", "down"):
                mode = self.after[mode]
            elif mode != "up":
                mode = "up" if value < 0 else mode
        return y


class Kinds(nn.Module):
    """A function gives one of several texts, and a loop goes on for as long as one stands."""

    def kind(self, x: Tensor) -> str:
        if x.max() > 2:
            return "large"
        return "small" if x.min() < -2 else "fine"

    def forward(self, x: Tensor) -> Tensor:
        match self.kind(x):
            case "large":
                x = x / 2
            case "small":
                x = x + 1
            case _:
                x = x * 3
        steps, status = 0, "run"
        while status == "run":
            x, steps = x * 0.5, steps + 1
            if x.abs().max() < 0.1:
                status = "done"
            elif steps >= 5:
                status = "limit"
        return x if status == "limit" else -x


@pytest.mark.parametrize("kind", [States, Table, Kinds])
def test_it_is_told_by_its_number(kind: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(7),), path, dynamic_shapes={"x": {0: "n"}})
    session = ort.InferenceSession(path)
    tried = (torch.randn(size) * scale for size in (1, 4, 21, 33) for scale in (0.01, 1.0, 30.0))
    for x in tried:
        (found,) = session.run(None, {"x": x.numpy()})
        np.testing.assert_allclose(found, model(x).numpy(), rtol=1e-4, atol=1e-5)
