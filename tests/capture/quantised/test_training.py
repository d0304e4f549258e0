"""Quantisation-aware training: what rounds, and what still learns how."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from torch import nn
from torch.ao.quantization import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    MovingAverageMinMaxObserver,
    disable_observer,
)
from torch.ao.quantization import (
    default_per_channel_weight_fake_quant as per_channel,
)

import onnxpert

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def seen(rounding: nn.Module) -> nn.Sequential:
    """A layer with a rounding behind it that has seen its range and is frozen."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 4), rounding)
    model(torch.randn(32, 6))
    return model.eval().apply(disable_observer)


ROUNDINGS = {
    "whole range": lambda: FakeQuantize(MovingAverageMinMaxObserver, 0, 255, dtype=torch.quint8),
    "part of it": lambda: FakeQuantize(MovingAverageMinMaxObserver, 0, 127, dtype=torch.quint8),
    "four bits": lambda: FakeQuantize(
        MovingAverageMinMaxObserver,
        -8,
        7,
        dtype=torch.qint8,
        qscheme=torch.per_tensor_symmetric,
    ),
    "fused": lambda: FusedMovingAvgObsFakeQuantize(
        MovingAverageMinMaxObserver, 0, 127, dtype=torch.quint8
    ),
    "per channel": per_channel,
}


@pytest.mark.parametrize("name", ROUNDINGS)
def test_a_frozen_rounding_is_quantize_and_dequantize(name: str, tmp_path: Path) -> None:
    # Per channel it sees weights, whose channels come first: rows, here as many as in the example.
    model = seen(ROUNDINGS[name]())
    x = torch.randn(32 if name == "per channel" else 3, 6)
    report = onnxpert.export(model, (x,), tmp_path / "model.onnx")
    kinds = [node.op_type for node in onnx.load(report.path).graph.node]
    assert kinds.count("QuantizeLinear") == kinds.count("DequantizeLinear") == 1
    assert ("Clip" in kinds) == (name not in {"whole range", "per channel"})


def test_a_rounding_that_is_off_is_not_there(tmp_path: Path) -> None:
    model = seen(ROUNDINGS["fused"]())
    model[1].disable_fake_quant()
    report = onnxpert.export(model, (torch.randn(3, 6),), tmp_path / "model.onnx")
    assert [node.op_type for node in onnx.load(report.path).graph.node] == ["Gemm"]


def test_a_whole_network(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5)).train()
    model.qconfig = torch.ao.quantization.get_default_qat_qconfig("x86")
    prepared = torch.ao.quantization.prepare_qat(model)
    for _ in range(3):
        prepared(torch.randn(4, 3, 8, 8))
    prepared.eval().apply(disable_observer)
    report = onnxpert.export(
        prepared,
        (torch.randn(2, 3, 8, 8),),
        tmp_path / "model.onnx",
        dynamic_shapes={"input": {0: "batch"}},
    )
    assert report.ok


@pytest.mark.parametrize("name", ["whole range", "fused"])
def test_one_that_still_learns_is_named(name: str) -> None:
    model = nn.Sequential(nn.Linear(6, 4), ROUNDINGS[name]()).eval()
    report = onnxpert.diagnose(model, (torch.randn(3, 6),))
    assert [finding.rule for finding in report.findings] == ["QNT101"]
    assert report.findings[0].message.startswith("1 still observes")


def test_a_model_between_prepare_and_convert_is_named() -> None:
    model = nn.Sequential(nn.Linear(6, 4)).eval()
    model.qconfig = torch.ao.quantization.get_default_qconfig("x86")
    report = onnxpert.diagnose(torch.ao.quantization.prepare(model), (torch.randn(3, 6),))
    assert [finding.rule for finding in report.findings] == ["QNT101"]


def test_scales_that_are_learned(tmp_path: Path) -> None:
    class Learned(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.tensor([0.1]))
            self.zero = nn.Parameter(torch.tensor([3.4]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch._fake_quantize_learnable_per_tensor_affine(
                x, self.scale, self.zero, 0, 255, 1.0
            )

    report = onnxpert.export(Learned().eval(), (torch.randn(3, 6),), tmp_path / "model.onnx")
    assert [node.op_type for node in onnx.load(report.path).graph.node] == [
        "QuantizeLinear",
        "DequantizeLinear",
    ]
