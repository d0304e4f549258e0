"""Modules, functions and values in Python's containers, taken by a number of the data's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x: Tensor, k: Tensor) -> Any:
        return self.layers[int(k)](x)


class Routed(nn.Module):
    """Each row by an expert of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.experts = nn.ModuleList([nn.Linear(4, 4) for _ in range(3)])

    def forward(self, x: Tensor, k: Tensor) -> Any:
        best = (x[:, 0].abs() * 2 + k).long() % 3
        rows = []
        for i in range(x.shape[0]):
            expert = self.experts[best[i].item()]
            rows.append(expert(x[i]) + expert.bias)
        return torch.stack(rows)


class Values(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Any:
        rows, scales = [x, x * 2, -x], (0.5, 1.0, 2.0)
        return rows[k] * scales[k.item()]


class Functions(nn.Module):
    def forward(self, x: Tensor, k: Tensor) -> Any:
        known = {0: torch.sin, 1: torch.cos, -1: torch.tanh}
        function = known.get(int(k), torch.neg)
        y = function(x)
        return function(y) if y.sum() > 0 else y


@pytest.mark.parametrize("kind", [Layer, Routed, Values, Functions])
def test_whichever_is_meant(kind: type[nn.Module], tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = kind().eval(), tmp_path / "m.onnx"
    shapes = ({0: torch.export.Dim("rows", max=64)}, None)
    onnxpert.export(model, (torch.randn(3, 4), torch.tensor(1)), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path)
    for rows, k in ((1, 0), (5, 2), (2, -1), (7, 1)):
        x, number = torch.randn(rows, 4), torch.tensor(k)
        with torch.no_grad():
            want = model(x, number)
        (got,) = session.run(None, {"x": x.numpy(), "k": number.numpy()})
        torch.testing.assert_close(torch.tensor(got), want)


def test_what_is_not_there_is_a_precondition(tmp_path: Path) -> None:
    report = onnxpert.export(
        Layer().eval(), (torch.randn(3, 4), torch.tensor(1)), tmp_path / "m.onnx"
    )
    assert any("IndexError" in finding.message for finding in report.findings)


class ByName(nn.Module):
    """A head by the text of a number, and a scale by one inside of a name."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({str(k): nn.Linear(4, 4) for k in range(3)})
        self.scale_0, self.scale_1, self.scale_2 = 0.5, 2.0, 3.0

    def forward(self, x: Tensor, k: Tensor) -> Any:
        x = self.heads[str(k.item())](x)
        return x * getattr(self, f"scale_{(int(k) + 1) % 3}")


def test_a_name_with_a_number_in_it(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, path = ByName().eval(), tmp_path / "m.onnx"
    shapes = ({0: "rows"}, None)
    onnxpert.export(model, (torch.randn(3, 4), torch.tensor(1)), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path)
    for rows, k in ((1, 0), (5, 2), (2, 1)):
        x, number = torch.randn(rows, 4), torch.tensor(k)
        with torch.no_grad():
            want = model(x, number)
        (got,) = session.run(None, {"x": x.numpy(), "k": number.numpy()})
        torch.testing.assert_close(torch.tensor(got), want)
