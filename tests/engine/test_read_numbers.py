"""A number that Python reads from the data and computes with: the file does so for every input."""

from __future__ import annotations

from pathlib import Path

import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from tests.engine.models import Model


def positive(x: Tensor) -> int:
    return int((x[:, 0] > 0).sum())


def at_most(x: Tensor) -> Tensor:
    return x * min(positive(x), 2)


def at_least(x: Tensor) -> Tensor:
    k = positive(x)
    return x * max(k, 2) + abs(k - 3)


def turns(x: Tensor) -> Tensor:
    for turn in range(min(positive(x), 3)):
        x = x.sin() + turn
    return x


def compared(x: Tensor) -> Tensor:
    k = positive(x)
    return x * (k == 1) + (k > 3) * 2


def taken(x: Tensor) -> Tensor:
    return x * [0.5, 1.0, 2.0][min(positive(x), 2)]


class Picked(nn.Module):
    """A layer by a number, beside something that is None on one side."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        bias = None
        if x.mean() > 0:
            bias = x.mean(0)
        y: Tensor = self.layers[positive(x) % 3](x)
        if bias is not None:
            y = y + bias
        return y


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize(
    "model",
    [*map(Model, (at_most, at_least, turns, compared, taken)), Picked()],
    ids=["at_most", "at_least", "turns", "compared", "taken", "picked"],
)
def test_whatever_the_number_is(model: nn.Module, dynamic: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, shapes = tmp_path / "m.onnx", {"x": {0: "rows"}} if dynamic else None
    onnxpert.export(model, (torch.rand(5, 3),), path, dynamic_shapes=shapes)
    session = onnxruntime.InferenceSession(path)
    for rows in (5, 1, 8) if dynamic else (5,):
        for k in range(rows + 1):
            x = torch.rand(rows, 3)
            x[k:, 0] *= -1
            with torch.no_grad():
                want = model(x)
            (got,) = session.run(None, {"x": x.numpy()})
            torch.testing.assert_close(torch.tensor(got), want)


def test_a_proof_tries_none_of_what_a_mask_lets_through(tmp_path: Path) -> None:
    class Positive(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x[x > 0] * 2

    report = onnxpert.export(Positive(), (torch.rand(4),), tmp_path / "m.onnx")
    assert {row.case for row in report.verified} & {"values negated", "values all negative"}
