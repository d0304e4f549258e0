"""Normalisation layers."""

import copy
from typing import Any

import onnx_ir as ir
import onnxruntime
import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.lower.same import assert_same, lowered


def trained(layer: nn.Module) -> nn.Module:
    """With weights and statistics that are not those of a fresh layer, and in eval mode."""
    with torch.no_grad():
        for value in (*layer.parameters(), *layer.buffers()):
            if value.is_floating_point():
                value.copy_(torch.rand_like(value) + 0.5)
    return layer.eval()


LAYERS: list[tuple[nn.Module, tuple[int, ...], str]] = [
    (nn.BatchNorm1d(4), (3, 4), "BatchNormalization"),
    (nn.BatchNorm1d(4), (3, 4, 5), "BatchNormalization"),
    (nn.BatchNorm2d(4, eps=1e-3), (3, 4, 5, 6), "BatchNormalization"),
    (nn.BatchNorm2d(4, affine=False), (3, 4, 5, 6), "BatchNormalization"),
    (nn.BatchNorm3d(4), (2, 4, 3, 5, 6), "BatchNormalization"),
    (nn.BatchNorm2d(4, track_running_stats=False), (3, 4, 5, 6), "ReduceMean"),
    (nn.InstanceNorm1d(4), (3, 4, 5), "InstanceNormalization"),
    (nn.InstanceNorm2d(4, affine=True), (3, 4, 5, 6), "InstanceNormalization"),
    (
        nn.InstanceNorm2d(4, affine=True, track_running_stats=True),
        (3, 4, 5, 6),
        "BatchNormalization",
    ),
    (nn.InstanceNorm3d(4), (2, 4, 3, 5, 6), "InstanceNormalization"),
    (nn.GroupNorm(2, 4), (3, 4), "InstanceNormalization"),
    (nn.GroupNorm(2, 4), (3, 4, 5, 6), "InstanceNormalization"),
    (nn.GroupNorm(4, 4), (3, 4, 5, 6), "InstanceNormalization"),
    (nn.GroupNorm(1, 4, affine=False), (3, 4, 5), "InstanceNormalization"),
    (nn.LayerNorm(6), (3, 4, 6), "LayerNormalization"),
    (nn.LayerNorm((4, 6), eps=1e-3), (3, 4, 6), "LayerNormalization"),
    (nn.LayerNorm(6, elementwise_affine=False), (3, 4, 6), "LayerNormalization"),
    (nn.LayerNorm(6, bias=False), (3, 4, 6), "LayerNormalization"),
    (nn.LayerNorm(6), (6,), "LayerNormalization"),
    (nn.RMSNorm(6), (3, 4, 6), "Div"),
    (nn.RMSNorm((4, 6), eps=1e-3), (3, 4, 6), "Div"),
    (nn.RMSNorm(6, elementwise_affine=False), (3, 4, 6), "Div"),
]


@pytest.mark.parametrize("row", range(len(LAYERS)))
def test_layers(row: int) -> None:
    layer, sizes, kind = LAYERS[row]
    assert_same(trained(layer), torch.randn(sizes) * 3 + 1, nodes=[kind])


@pytest.mark.parametrize("row", range(len(LAYERS)))
def test_layers_in_float64(row: int) -> None:
    layer, sizes, _ = LAYERS[row]
    assert_same(trained(copy.deepcopy(layer).double()), torch.randn(sizes).double() * 3 + 1)


@pytest.mark.parametrize("row", [0, 2, 5, 7, 11, 12, 14, 19])
def test_layers_at_other_sizes(row: int) -> None:
    layer, sizes, _ = LAYERS[row]
    axes = (
        {0, 2, 3} if isinstance(layer, (nn.GroupNorm, nn.InstanceNorm2d, nn.BatchNorm2d)) else {0}
    )
    dims = {axis: f"size{axis}" for axis in axes if axis < len(sizes)}
    other = tuple(size + 2 if axis in dims else size for axis, size in enumerate(sizes))
    one = tuple(1 if axis == 0 and row != 5 else size for axis, size in enumerate(sizes))
    assert_same(
        trained(layer),
        torch.randn(sizes),
        dynamic=(dims,),
        others=[[torch.randn(other)], [torch.randn(one)]],
    )


@pytest.mark.parametrize("opset", [13, 16, 17, 23])
def test_layer_and_rms_norm_at_other_opsets(opset: int) -> None:
    for row in (14, 15, 16, 17, 19, 20, 21):
        layer, sizes, _ = LAYERS[row]
        assert_same(trained(layer), torch.randn(sizes), opset=opset)


def test_batch_norm_in_training_mode_uses_the_batch() -> None:
    layer = trained(nn.BatchNorm2d(4)).train()
    assert_same(copy.deepcopy(layer), torch.randn(3, 4, 5, 6))


def test_core_overloads() -> None:
    x, w, b = torch.randn(3, 4, 6), torch.rand(6), torch.rand(6)
    assert_same(lambda x, w, b: torch.native_layer_norm(x, [6], w, b, 1e-5), x, w, b)
    w, b = torch.rand(4), torch.rand(4)
    assert_same(lambda x, w, b: torch.native_group_norm(x, w, b, 3, 4, 6, 2, 1e-5), x, w, b)
    legit: Any = torch.ops.aten._native_batch_norm_legit_no_training
    assert_same(lambda x, w, b, m, v: legit(x, w, b, m, v, 0.1, 1e-5)[0], x, w, b, w + 1, b + 1)
    fused: Any = torch.ops.aten._fused_rms_norm
    assert_same(lambda x: fused(x, [6], None, 1e-5), x)


@pytest.mark.parametrize("dim", [0, 1, None])
def test_weight_norm(dim: int | None) -> None:
    layer = nn.utils.parametrizations.weight_norm(nn.Linear(4, 6), dim=dim)
    assert_same(layer, torch.randn(3, 4))
    v, g = torch.randn(3, 4), torch.rand(3, 1)
    assert_same(lambda v, g: torch._weight_norm_interface(v, g, 0), v, g)


def test_local_response_norm_and_normalize() -> None:
    assert_same(lambda x: F.local_response_norm(x, 3), torch.randn(2, 5, 6, 7))
    assert_same(lambda x: F.normalize(x, dim=1), torch.randn(2, 5, 6))
    assert_same(lambda x: F.normalize(x, p=1.0, dim=-1), torch.randn(2, 5, 6))


@pytest.mark.parametrize(
    ("layer", "opset", "kernel"),
    [
        (nn.RMSNorm(6), 18, "SimplifiedLayerNormalization"),
        (nn.RMSNorm(6, elementwise_affine=False), 18, "SimplifiedLayerNormalization"),
        (nn.LayerNorm(6), 14, "LayerNormalization"),
    ],
)
def test_the_runtime_fuses_it(layer: nn.Module, opset: int, kernel: str, tmp_path: Any) -> None:
    result = lowered(layer, [torch.randn(3, 4, 6)], opset=opset)
    options = onnxruntime.SessionOptions()
    options.optimized_model_filepath = str(tmp_path / "optimised.onnx")
    options.log_severity_level = 3
    onnxruntime.InferenceSession(
        ir.to_proto(result.model).SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    model = ir.load(tmp_path / "optimised.onnx")
    assert [node.op_type for node in model.graph] == [kernel]


def test_rms_norm_of_small_halves_has_the_step_of_float32() -> None:
    x = torch.full((2, 4), 1e-3, dtype=torch.float16)
    assert_same(lambda x: torch.nn.functional.rms_norm(x, (4,)), x)
