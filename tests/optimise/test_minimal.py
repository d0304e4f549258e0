"""What comes out is no more than it needs to be: the exact operators of models that people write."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
import torch.nn.functional as F
from torch import nn

import onnxpert


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(16, 48)
        self.out = nn.Linear(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        batch, length, width = x.shape
        parts = self.qkv(x).view(batch, length, 3, 4, 4).permute(2, 0, 3, 1, 4)
        query, key, value = parts.unbind(0)
        mixed = F.scaled_dot_product_attention(query, key, value)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


def attend(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
    return F.scaled_dot_product_attention(query, key, value)


def rotated(x: torch.Tensor, cosine: torch.Tensor, sine: torch.Tensor) -> torch.Tensor:
    half = x.shape[-1] // 2
    return x * cosine + torch.cat((-x[..., half:], x[..., :half]), -1) * sine


def causal(x: torch.Tensor) -> torch.Tensor:
    return x.masked_fill(torch.ones(4, 4).tril() == 0, float("-inf")).softmax(-1)


def conv_block() -> nn.Module:
    return nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())


def mlp() -> nn.Module:
    return nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))


LINEAR = "Transpose MatMul Add"
HEADS = "Gather Gather Gather Mul Transpose MatMul Softmax MatMul"
LAYERS: dict[str, tuple[Any, tuple[tuple[int, ...], ...], str]] = {
    "linear": (nn.Linear(8, 4), ((2, 8),), "Gemm"),
    "mlp": (mlp(), ((2, 3, 8),), f"{LINEAR} Gelu {LINEAR}"),
    "conv": (conv_block(), ((2, 3, 8, 8),), "Conv BatchNormalization Relu"),
    "transposed conv": (nn.ConvTranspose2d(3, 8, 2, stride=2), ((2, 3, 8, 8),), "ConvTranspose"),
    "layer norm": (nn.LayerNorm(8), ((2, 3, 8),), "LayerNormalization"),
    "instance norm": (nn.InstanceNorm2d(8, affine=True), ((2, 8, 4, 4),), "InstanceNormalization"),
    "silu": (nn.SiLU(), ((2, 3),), "Sigmoid Mul"),
    "hard swish": (nn.Hardswish(), ((2, 3),), "HardSigmoid Mul"),
    "pooling": (
        nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten()),
        ((2, 3, 8, 8),),
        "GlobalAveragePool Reshape",
    ),
    "upsampling": (nn.Upsample(scale_factor=2, mode="bilinear"), ((2, 3, 8, 8),), "Resize"),
    "pixel shuffle": (nn.PixelShuffle(2), ((2, 8, 4, 4),), "DepthToSpace"),
    "grid sample": (F.grid_sample, ((2, 2, 4, 4), (2, 3, 3, 2)), "GridSample"),
    "causal mask": (causal, ((2, 4, 4),), "Where Softmax"),
    "normalised": (lambda x: F.normalize(x, dim=-1), ((2, 8),), "ReduceL2 Max Div"),
    "attention": (
        Attention(),
        ((2, 5, 16),),
        f"{LINEAR} Reshape Transpose {HEADS} Transpose Reshape {LINEAR}",
    ),
    "rotary": (
        rotated,
        ((2, 3, 8), (3, 8), (3, 8)),
        "Mul Slice Neg Slice Concat Mul Add",
    ),
}
# Where a size is dynamic and counts: half of the last one.
DYNAMIC = {"rotary": "Mul Shape Div Slice Neg Slice Concat Mul Add"}
CANCELLED: dict[str, tuple[Callable[..., Any], torch.dtype, str]] = {
    "there and back": (lambda x: x.double().float() + 1, torch.float32, "Add"),
    "by way of a number": (lambda x: (x > 0).float().bool(), torch.float32, "Greater"),
    "rounded on the way": (lambda x: x.half().float() + 1, torch.float32, "Cast Cast Add"),
    "cut on the way": (lambda x: x.to(torch.int32).long() + 1, torch.int64, "Cast Cast Add"),
    "widened twice": (lambda x: x.int().long() + 1, torch.uint8, "Cast Add"),
    "two transposes": (lambda x: x.mT.mT.relu(), torch.float32, "Relu"),
    "an axis that goes again": (lambda x: x[None].squeeze(0).relu(), torch.float32, "Relu"),
    "an axis that travels": (
        lambda x: x.unsqueeze(0).transpose(0, 2).squeeze(2).relu(),
        torch.float32,
        "Transpose Relu",
    ),
    "times one": (lambda x: (x * 1 / 1 - 0).relu() * 1, torch.float32, "Relu"),
    "expanded for nothing": (lambda x: x / x[:, :1].expand_as(x), torch.float32, "Slice Div"),
    "nothing at all": (lambda x: x * 1, torch.float32, "Identity"),
}


def operators(model: Any, args: tuple[Any, ...], path: Path, **options: Any) -> str:
    """The node types of the proven file, in order."""
    report = onnxpert.export(model, args, path, **options)
    assert report.ok
    return " ".join(node.op_type for node in onnx.load(path).graph.node)


@pytest.mark.parametrize("dynamic", [False, True], ids=["fixed", "dynamic"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str, dynamic: bool, tmp_path: Path) -> None:
    model, shapes, wanted = LAYERS[name]
    if isinstance(model, nn.Module):
        model.eval()
    args = tuple(map(torch.randn, shapes))
    shapes_asked = "auto" if dynamic else None
    found = operators(model, args, tmp_path / "m.onnx", dynamic_shapes=shapes_asked)
    assert found == (DYNAMIC.get(name, wanted) if dynamic else wanted)


@pytest.mark.parametrize("name", CANCELLED)
def test_what_cancels_is_not_there(name: str, tmp_path: Path) -> None:
    model, dtype, wanted = CANCELLED[name]
    x = (torch.randn(3, 4) * 5).abs().add(1).to(dtype)
    assert operators(model, (x,), tmp_path / "m.onnx") == wanted


def test_the_newest_operators_where_the_opset_has_them(tmp_path: Path) -> None:
    norm, x = nn.RMSNorm(8), torch.randn(2, 3, 8)
    assert operators(norm, (x,), tmp_path / "m.onnx", opset_version=23) == "RMSNormalization"
    heads = tuple(torch.randn(2, 4, 5, 8) for _ in range(3))
    assert operators(attend, heads, tmp_path / "a.onnx", opset_version=23) == "Attention"
    gelu = operators(nn.GELU(), (x,), tmp_path / "g.onnx", opset_version=17)
    assert "Erf" in gelu


def test_a_weight_of_one_stays(tmp_path: Path) -> None:
    class Scaled(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x * self.scale

    assert operators(Scaled(), (torch.randn(3),), tmp_path / "m.onnx") == "Mul"


def test_inside_a_branch(tmp_path: Path) -> None:
    def model(x: torch.Tensor) -> torch.Tensor:
        return torch.cond(
            x.sum() > 0,
            lambda y: (y.double().float() + 1) * 1,
            lambda y: y[None].squeeze(0) * 1,
            (x,),
        )

    assert operators(model, (torch.ones(3),), tmp_path / "m.onnx").endswith("If")
    (choice,) = (n for n in onnx.load(tmp_path / "m.onnx").graph.node if n.op_type == "If")
    bodies = {a.name: [node.op_type for node in a.g.node] for a in choice.attribute}
    assert bodies == {"then_branch": ["Add"], "else_branch": ["Identity"]}
