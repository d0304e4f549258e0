"""bfloat16 that runs: float32 where there is no kernel, and casts only around the whole of it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.targets.kernels import Kernels, installed

HALF = torch.bfloat16


class Calls(nn.Module):
    def __init__(self, function: Any) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: torch.Tensor) -> Any:
        return self.function(*args)


def _kernels() -> Kernels:
    found = installed("ort-cpu")
    assert found is not None
    return found


def test_the_table_knows_types_and_versions() -> None:
    kernels = _kernels()
    assert kernels.has("", "MatMul", 13, {"T": "tensor(float)"})
    assert not kernels.has("", "MatMul", 13, {"T": "tensor(bfloat16)"})
    assert kernels.has("", "RandomNormal", 1, {"T": "tensor(float)"})
    assert not kernels.has("", "RandomNormal", 22, {"T": "tensor(float)"})  # an open range
    assert installed("onnx-reference") is None


def test_an_older_release_has_fewer_kernels() -> None:
    types = {"T": "tensor(bfloat16)", "U": "tensor(float)"}
    older = installed("ort-cpu", "1.23")
    assert older is not None
    assert _kernels().has("", "LayerNormalization", 17, types)
    assert not older.has("", "LayerNormalization", 17, types)
    assert older.has("", "LayerNormalization", 17, {**types, "T": "tensor(float)"})


MODELS = {
    "matmul": (Calls(lambda x: x @ x.mT), torch.randn(3, 4)),
    "linear": (nn.Sequential(nn.Linear(4, 5), nn.GELU(), nn.LayerNorm(5)), torch.randn(3, 4)),
    "conv": (nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.ReLU()), torch.randn(1, 2, 5, 5)),
    "lstm": (nn.LSTM(3, 4), torch.randn(5, 2, 3)),
    "compare": (Calls(lambda x: (x * 3 > 0.5, (x * 3).argmax(-1), (x * 3).floor())), torch.randn(3, 4)),
    "moved": (Calls(lambda x: torch.cat([x.mT, x.mT]).reshape(-1)[2:].sin()), torch.randn(3, 4)),
    "given back": (Calls(lambda x: (x, x.exp(), x.exp().exp())), torch.randn(3)),
    "sorted": (Calls(lambda x: (x * 0.3).sort()), torch.randn(3, 9)),
    "where": (Calls(lambda x: torch.where(x > 0, x, -2 * x).clamp(max=1)), torch.randn(3, 9)),
}  # fmt: skip


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("opset", [13, 20, 22])
def test_it_runs_and_agrees(name: str, opset: int) -> None:
    model, x = MODELS[name]
    args = (x.to(HALF),)
    report = onnxpert.diagnose(model.to(HALF).eval(), args, opset_version=opset)
    assert report.ok, report.findings


def test_a_branch_is_widened_inside() -> None:
    model = Calls(lambda x: torch.cond(x.sum() > 0, torch.exp, torch.neg, (x,)))
    args = (torch.randn(3).to(HALF),)
    assert onnxpert.diagnose(model, args).ok
    refused = onnxpert.diagnose(model, args, opset_version=13)
    assert [finding.rule for finding in refused.findings] == ["OPS502"]


def test_autocast_runs_and_agrees() -> None:
    class Region(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(4, 4), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.autocast("cpu", dtype=HALF):
                y = self.first(x) * 0.5
            return self.second(y.float())

    assert onnxpert.diagnose(Region().eval(), (torch.randn(2, 4),)).ok


def test_casts_are_at_the_ends_only(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = Calls(lambda x: ((x.exp() + 1).sqrt().reshape(-1) * 2).tanh())
    onnxpert.export(model, (torch.randn(2, 3).to(HALF),), path)
    kinds = Counter(node.op_type for node in onnx.load(path).graph.node)
    casts = [node for node in onnx.load(path).graph.node if node.op_type == "Cast"]
    of_values = [node for node in casts if {"args_0", "output"} & {*node.input, *node.output}]
    assert len(of_values) == 2
    assert len(casts) <= 4  # the two constants may come by a cast of their own
    assert kinds["Exp"] == kinds["Sqrt"] == kinds["Tanh"] == 1


def test_what_jumps_is_given_rounded_values() -> None:
    """1 + 2**-9 is 1 in bfloat16: float32 all along would say that it is larger."""
    x = torch.tensor([1.0, 2.0]).to(HALF)
    model = Calls(lambda x: (x + 2**-9 > x, (x + 2**-9).ceil()))
    assert onnxpert.diagnose(model, (x,)).ok


def test_float16_is_left_to_the_runtime(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(nn.Linear(3, 3).half().eval(), (torch.randn(2, 3).half(),), path)
    assert {node.op_type for node in onnx.load(path).graph.node} == {"Gemm"}


def test_float8_that_is_only_moved_about_is_cast_at_the_ends(tmp_path: Path) -> None:
    """ONNX Runtime pushes a transpose through a cast to float8, and then has no such transpose."""

    def moved(x: torch.Tensor) -> Any:
        turned = x.transpose(0, 1)
        return turned.movedim(0, -1), turned.repeat_interleave(2, 0)

    path = tmp_path / "m.onnx"
    x = torch.linspace(-2, 2, 8).reshape(2, 1, 4).to(torch.float8_e4m3fn)
    report = onnxpert.export(Calls(moved), (x,), path)
    assert report.ok, report
    assert Counter(node.op_type for node in onnx.load(path).graph.node)["Cast"] == 3
