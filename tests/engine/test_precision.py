"""Another precision on the way out: smaller, proven, and wide where it has to be."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.core.errors import UsageError


def _net() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 100),
        nn.GELU(), nn.LayerNorm(100), nn.Linear(100, 4), nn.Softmax(-1),
    ).eval()  # fmt: skip


X = torch.randn(2, 3, 8, 8)


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_weights_are_halved_and_the_ends_stay(precision: str, tmp_path: Path) -> None:
    whole = onnxpert.export(_net(), (X,), tmp_path / "whole.onnx")
    report = onnxpert.export(_net(), (X,), tmp_path / "half.onnx", precision=precision)
    assert report.ok
    assert report.bytes is not None
    assert whole.bytes is not None
    assert report.bytes < 0.65 * whole.bytes
    graph = onnx.load(tmp_path / "half.onnx").graph
    ends = {value.type.tensor_type.elem_type for value in (*graph.input, *graph.output)}
    assert ends == {onnx.TensorProto.FLOAT}
    assert report.verified[0].rtol == {"float16": 1e-2, "bfloat16": 4e-2}[precision]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_half_model_in_float32(dtype: torch.dtype, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(_net().to(dtype), (X.to(dtype),), path, precision="float32")
    graph = onnx.load(path).graph
    halves = {onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16}
    assert not any(weight.data_type in halves for weight in graph.initializer)
    assert graph.output[0].type.tensor_type.elem_type in halves


class Energy(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (1000 * x).pow(2).mean(-1).sqrt() * 2


def test_what_overflows_stays_wide() -> None:
    args = (torch.ones(2, 8),)
    report = onnxpert.diagnose(Energy(), args, precision="float16")
    assert report.ok
    said = [finding.message for finding in report.findings if finding.rule == "DTY903"]
    assert any(message.startswith("Pow stays in float32") for message in said)
    assert not any(message.startswith("Mul") for message in said)
    wide_enough = onnxpert.diagnose(Energy(), args, precision="bfloat16")
    assert wide_enough.ok
    assert not wide_enough.findings


def test_what_loses_too_much_stays_wide_with_what_it_reads() -> None:
    class Centred(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x - x.mean()).tanh()

    report = onnxpert.diagnose(Centred(), (torch.linspace(1000, 1001, 16),), precision="bfloat16")
    assert report.ok, report.findings
    said = [finding.message for finding in report.findings if finding.rule == "DTY903"]
    assert [message.split()[0] for message in said] == ["Sub", "ReduceMean"]
    assert "would spoil Sub" in said[1]


def test_an_unknown_precision() -> None:
    with pytest.raises(UsageError, match="precision"):
        onnxpert.diagnose(Energy(), (torch.ones(2, 8),), precision="float8")


class Summed(nn.Module):
    def forward(self, x: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        return torch.zeros(4, 3).scatter_add(0, i, x.sigmoid()) * 2


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_what_has_a_kernel_that_raises_stays_as_it_is(precision: str, tmp_path: Path) -> None:
    """ONNX Runtime registers a scatter that adds in half precision, which raises when it runs."""
    args = (torch.randn(5, 3), torch.randint(0, 4, (5, 3)))
    report = onnxpert.export(Summed().eval(), args, tmp_path / "m.onnx", precision=precision)
    assert report.ok
