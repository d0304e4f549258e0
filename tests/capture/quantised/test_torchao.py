"""Weights and activations that torchao has quantised, and PT2E: followed like any other operators."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
from torch import nn

import onnxpert

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # torchao's own use of torch
    torchao = pytest.importorskip("torchao", reason="torchao is not installed")
    import torchao.quantization as ao
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def layers() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 128)).eval()


CONFIGS: dict[str, tuple[Callable[[], Any], str]] = {
    "int8 weights": (ao.Int8WeightOnlyConfig, "Cast"),
    "int8": (ao.Int8DynamicActivationInt8WeightConfig, "MatMulInteger"),
    "int4 weights": (
        lambda: ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerGroup(32)),
        "MatMulNBits",
    ),
    "int4 weights per row": (
        lambda: ao.IntxWeightOnlyConfig(weight_dtype=torch.int4, granularity=ao.PerAxis(0)),
        "MatMul",
    ),
    "int4 weights, int8 activations": (
        lambda: ao.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=ao.PerGroup(32)
        ),
        "MatMulNBits",
    ),
    "float8 weights": (ao.Float8WeightOnlyConfig, "Cast"),
}


def export(model: nn.Module, x: torch.Tensor, path: Path, **options: Any) -> tuple[Any, set[str]]:
    report = onnxpert.export(model, (x,), path / "model.onnx", **options)
    assert report.ok
    return report, {node.op_type for node in onnx.load(report.path).graph.node}


@pytest.mark.parametrize("name", CONFIGS)
def test_torchao(name: str, tmp_path: Path) -> None:
    config, expected = CONFIGS[name]
    model = layers()
    ao.quantize_(model, config())
    shapes = {"input": {0: "batch"}}
    report, kinds = export(model, torch.randn(3, 128), tmp_path, dynamic_shapes=shapes)
    assert expected in kinds
    floats = 4 * 2 * 128 * 256
    assert report.path is not None
    assert report.path.stat().st_size < floats / 2
    assert {row.case for row in report.verified} > {"example"}


def test_four_bits_are_said_in_an_older_opset_too(tmp_path: Path) -> None:
    model = layers()
    ao.quantize_(model, CONFIGS["int4 weights"][0]())
    _, kinds = export(model, torch.randn(3, 128), tmp_path, opset_version=18)
    assert "MatMulNBits" not in kinds


def test_four_bits_in_the_standard_alone(tmp_path: Path) -> None:
    """Blocks of int4 are in the standard; only the fused operator is ONNX Runtime's own."""
    model = layers()
    ao.quantize_(model, CONFIGS["int4 weights"][0]())
    path = tmp_path / "model.onnx"
    report = onnxpert.export(model, (torch.randn(3, 128),), path, target="onnx", verify=False)
    file = onnx.load(report.path)
    assert {one.domain for one in file.opset_import} <= {"", "ai.onnx"}
    assert onnx.TensorProto.INT4 in {one.data_type for one in file.graph.initializer}


def pt2e(dynamic: bool) -> nn.Module:
    x = torch.randn(4, 128)
    batch = torch.export.Dim("batch", min=1, max=64)
    graph = torch.export.export(layers(), (x,), dynamic_shapes=({0: batch},)).module()
    quantiser = x86.X86InductorQuantizer()
    quantiser.set_global(x86.get_default_x86_inductor_quantization_config(is_dynamic=dynamic))
    prepared = prepare_pt2e(graph, quantiser)
    for _ in range(3):
        prepared(torch.randn(8, 128))
    return convert_pt2e(prepared)


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_pt2e(dynamic: bool, tmp_path: Path) -> None:
    shapes = {"input": {0: "batch"}}
    _, kinds = export(pt2e(dynamic), torch.randn(4, 128), tmp_path, dynamic_shapes=shapes)
    assert "QuantizeLinear" in kinds
    assert ("MatMulInteger" in kinds) == dynamic
