"""An output of which nothing but roundings is left."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from onnx import helper
from torch import nn

import onnxpert
from onnxpert import targets
from onnxpert.core.types import Row, Verdict
from onnxpert.verify import verify
from onnxpert.verify.remains import explained_as_remains

ORT = targets.find("ort-cpu")
FAILED = Row("example", "y", {}, Verdict.FAIL, 1e-7, 1.0, 1e-3, 1e-5)


def _judged(file: float, left: float) -> Verdict:
    """Of a model that gives roundings of 1e-7, and this in double precision; the file gives `file`."""
    torch.manual_seed(0)
    want = torch.randn(100) * 1e-7

    def draw(turn: int) -> torch.Tensor:
        return torch.randn(100) * 1e-7

    got = torch.randn(100) * file
    exact = torch.full((100,), left, dtype=torch.float64)
    return explained_as_remains(FAILED, want, got.numpy(), exact, draw).verdict


def test_as_near_to_zero_as_the_model() -> None:
    assert _judged(1e-7, 1e-16) is Verdict.PASS


def test_further_from_zero_than_the_model() -> None:
    assert _judged(1e-6, 1e-16) is Verdict.FAIL


def test_a_small_value_that_is_the_models_own() -> None:
    assert _judged(1e-7, 1e-8) is Verdict.FAIL


class Centred(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        y = nn.functional.instance_norm(x)
        return y.mean((2, 3)), y


@pytest.mark.parametrize("asked", ["auto", ({0: "n", 2: "h", 3: "w"},)])
def test_the_mean_of_what_was_normalised(tmp_path: Path, asked: Any) -> None:
    torch.manual_seed(0)
    report = onnxpert.export(
        Centred(), (torch.randn(2, 2, 6, 7),), tmp_path / "m.onnx", dynamic_shapes=asked
    )
    assert report.ok
    assert all(report.symbols[axis].upper is None for axis in range(3))
    assert "nothing but roundings is left" in report.render("text")


def test_a_difference_of_equals_that_is_not_in_the_file(load: Any, write: Any) -> None:
    class Apart(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (3 * x).sum(1) / 3 - x.sum(1)

    dims = {"x": (torch.float32, ["batch", 64])}
    nodes = [helper.make_node("ReduceSum", ["x", "axis"], ["y"], keepdims=0)]
    held = {"axis": torch.tensor([1])}
    path = write(nodes, dims, {"y": (torch.float32, ["batch"])}, weights=held)
    found = verify(load(Apart(), x=torch.randn(2, 64)), path, ORT)
    assert found.rows[0].verdict is Verdict.FAIL
