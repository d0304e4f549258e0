"""Every scheme writes a file that the runtime takes, smaller, near, and as dynamic as before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.core.types import Kept
from onnxpert.quantise import catalogue
from onnxpert.report import Report


def linear() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).eval()


def conv() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 48, 3, padding=1), nn.BatchNorm2d(48), nn.ReLU(), nn.MaxPool2d(2),
        nn.ConvTranspose2d(48, 48, 2, 2), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(48, 32),
    ).eval()  # fmt: skip


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(50, 32)
        self.lstm = nn.LSTM(32, 48, batch_first=True, bidirectional=True)
        self.head = nn.Linear(96, 32)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.lstm(self.embed(ids))[0])


X = torch.linspace(-2, 2, 4 * 64).reshape(4, 64)
IMAGE = torch.linspace(-2, 2, 2 * 3 * 16 * 16).reshape(2, 3, 16, 16)
IDS = torch.arange(24).reshape(2, 12)
MODELS: dict[str, tuple[Callable[[], nn.Module], Tensor]] = {
    "linear": (linear, X),
    "conv": (conv, IMAGE),
    "recurrent": (lambda: Recurrent().eval(), IDS),
}
INSIDE = {
    ("int8-dynamic", "linear"): {"MatMulInteger"},
    ("int8-dynamic", "conv"): {"ConvInteger", "MatMulInteger"},
    ("int8-dynamic", "recurrent"): {"DynamicQuantizeLSTM", "MatMulInteger"},
    ("int8-static", "linear"): {"QuantizeLinear", "DequantizeLinear"},
    ("int8-static", "conv"): {"QuantizeLinear", "DequantizeLinear"},
    ("int8-static", "recurrent"): {"QuantizeLinear", "DequantizeLinear"},
    ("int4-weight", "linear"): {"MatMulNBits"},
    ("int4-weight", "conv"): {"MatMulNBits"},
    ("int4-weight", "recurrent"): {"MatMulNBits"},
}


def exported(name: str, scheme: str, path: Path, **options: Any) -> Report:
    make, example = MODELS[name]
    return onnxpert.export(
        make(), (example,), path, dynamic_shapes="auto", quantize=scheme, **options
    )


def kinds(path: Path) -> set[str]:
    return {node.op_type for node in onnx.load(path).graph.node}


@pytest.mark.parametrize(("scheme", "name"), INSIDE)
def test_the_file_runs_at_other_sizes_and_is_near(scheme: str, name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = exported(name, scheme, path)
    assert report.quantised is not None
    assert kinds(path) >= INSIDE[scheme, name]
    assert report.quantised.bytes_after < report.quantised.bytes_before
    assert report.bytes == path.stat().st_size == report.quantised.bytes_after
    make, example = MODELS[name]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    for given in (example, torch.cat([example, example, example])):
        want = make()(given).detach().numpy()
        (got,) = session.run(None, {session.get_inputs()[0].name: given.numpy()})
        assert got.shape == want.shape
        share = np.linalg.norm(got - want) / np.linalg.norm(want)
        assert 0 < share <= report.quantised.bound
    assert report.quantised.error == pytest.approx(
        max(row.after or 0 for row in report.quantised.rows if row.given)
    )
    assert any(not row.given for row in report.quantised.rows)


def test_what_the_float_file_promised_is_promised_still(tmp_path: Path) -> None:
    path, plain = tmp_path / "q.onnx", tmp_path / "f.onnx"
    exported("linear", "int8-dynamic", path, opset_version=18)
    make, example = MODELS["linear"]
    onnxpert.export(make(), (example,), plain, dynamic_shapes="auto", opset_version=18)
    one, two = onnx.load(plain), onnx.load(path)
    assert [str(value) for value in one.graph.input] == [str(value) for value in two.graph.input]
    assert [str(value) for value in one.graph.output] == [str(value) for value in two.graph.output]
    assert {p.key: p.value for p in one.metadata_props} == {
        p.key: p.value for p in two.metadata_props
    }
    assert (one.ir_version, one.producer_name) == (two.ir_version, two.producer_name)
    assert [(each.domain, each.version) for each in two.opset_import] == [("", 18)]
    modules = [
        {note.key: note.value for note in node.metadata_props}.get("onnxpert.module")
        for node in two.graph.node
        if node.op_type == "MatMulInteger"
    ]
    assert modules == ["0", "2"]


class Named(nn.Module):
    """Names that the quantiser would like to give to what it makes."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.fc = nn.Linear(64, 64)
        self.fc.register_buffer("weight_scale", torch.full((64,), 2.0))
        self.fc.register_buffer("weight_quantized", torch.full((64,), 3.0))

    def forward(self, x: Tensor, x_scale: Tensor) -> Tensor:
        return self.fc(x * x_scale) * self.fc.weight_scale + self.fc.weight_quantized


@pytest.mark.parametrize("scheme", sorted(catalogue()))
def test_names_of_the_users_are_not_taken(scheme: str, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = onnxpert.export(
        Named().eval(), (X, torch.ones(64)), path, quantize=scheme, output_names=("x_quantized",)
    )
    assert report.ok
    graph = onnx.load(path).graph
    assert [value.name for value in graph.input] == ["x", "x_scale"]
    assert [value.name for value in graph.output] == ["x_quantized"]


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.a = nn.Linear(64, 64)
        self.b = nn.Linear(64, 64)
        self.b.weight = self.a.weight

    def forward(self, x: Tensor) -> Tensor:
        return self.b(torch.tanh(self.a(x)))


@pytest.mark.parametrize("scheme", sorted(catalogue()))
def test_a_weight_that_two_layers_share(scheme: str) -> None:
    report = onnxpert.diagnose(Tied().eval(), (X,), quantize=scheme)
    assert report.ok
    assert report.quantised is not None
    assert [layer.kept for layer in report.quantised.layers] == [None, None]


def test_layers_are_told_with_what_they_lose() -> None:
    report = onnxpert.diagnose(linear(), (X,), quantize="int4-weight")
    assert report.quantised is not None
    first, second = report.quantised.layers
    assert (first.name, second.name) == ("0", "2")
    assert first.own is not None
    assert second.own is not None
    assert second.there is not None
    assert first.own == pytest.approx(first.there or 0, rel=1e-3)  # nothing is before it
    assert second.there > second.own > 0.01


def test_what_a_scheme_has_no_form_for_is_said() -> None:
    make, example = MODELS["recurrent"]
    report = onnxpert.diagnose(make(), (example,), quantize="int4-weight")
    assert report.quantised is not None
    told = {layer.op_type: layer.kept for layer in report.quantised.layers}
    assert told == {"Gather": Kept.NO_FORM, "LSTM": Kept.NO_FORM, "MatMul": None}


class Looping(nn.Module):
    """Some of its weights are read in the body of a branch."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        y = self.first(x)
        if y.sum() > 0:
            return self.second(y)
        return y * 2


@pytest.mark.parametrize("scheme", sorted(catalogue()))
def test_bodies_of_branches_stay_as_they_are(scheme: str) -> None:
    report = onnxpert.diagnose(Looping().eval(), (X,), quantize=scheme)
    assert report.ok, str(report)
    assert report.quantised is not None
    assert [layer.name for layer in report.quantised.layers] == ["first"]


class Stack(nn.Module):
    """A stack of matrices, which no kernel takes with a scale per column."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.stack = nn.Parameter(torch.randn(4, 16, 32))
        self.head = nn.Linear(32, 64)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(torch.matmul(x.reshape(4, 4, 16), self.stack))


class Twice(nn.Module):
    """One convolution, two inputs of different ranges."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 48, 3)
        self.up = nn.ConvTranspose2d(48, 48, 3, groups=4)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(torch.relu(self.conv(x))) - self.up(torch.relu(self.conv(x * 5)))


@pytest.mark.parametrize("scheme", sorted(catalogue()))
def test_a_stack_of_matrices_stays(scheme: str) -> None:
    report = onnxpert.diagnose(Stack().eval(), (X,), quantize=scheme)
    assert report.ok
    assert report.quantised is not None
    assert [layer.kept for layer in report.quantised.layers] == [Kept.NO_FORM, None]


@pytest.mark.parametrize("scheme", ["int8-dynamic", "int8-static"])
def test_a_convolution_that_is_used_twice(scheme: str) -> None:
    report = onnxpert.diagnose(Twice().eval(), (IMAGE,), quantize=scheme)
    assert report.ok, str(report)
    assert report.quantised is not None
    kept = {(layer.op_type, layer.kept) for layer in report.quantised.layers}
    assert kept == {("Conv", None), ("ConvTranspose", Kept.NO_FORM)}


def test_convolutions_have_unsigned_weights_and_products_signed_ones(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    exported("conv", "int8-dynamic", path)
    graph = onnx.load(path).graph
    kind = {tensor.name: tensor.data_type for tensor in graph.initializer}
    found = {
        node.op_type: kind[node.input[1]]
        for node in graph.node
        if node.op_type in ("ConvInteger", "MatMulInteger")
    }
    assert found == {
        "ConvInteger": onnx.TensorProto.UINT8,
        "MatMulInteger": onnx.TensorProto.INT8,
    }


def test_the_runtime_computes_static_layers_in_8_bits(tmp_path: Path) -> None:
    """Of a product and a vector it would make Gemm, which it has no form in 8 bits for."""
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True).eval()
    path, loaded = tmp_path / "m.onnx", tmp_path / "loaded.onnx"
    onnxpert.export(layer, (X.reshape(1, 4, 64),), path, quantize="int8-static")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = str(loaded)
    onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    made = [node.op_type for node in onnx.load(loaded).graph.node]
    assert sum(kind in ("MatMulIntegerToFloat", "QGemm") for kind in made) == 4, made
    assert "Gemm" not in made


class Masked(nn.Module):
    """Infinities between the layers, as attention has them."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Linear(64, 64)
        self.second = nn.Linear(64, 64)

    def forward(self, x: Tensor) -> Tensor:
        hidden = torch.sin(100 * x) > 0.5
        y = self.first(x).masked_fill(hidden, float("-inf"))
        return self.second(torch.softmax(y, -1)).masked_fill(hidden, float("-inf"))


@pytest.mark.parametrize("scheme", sorted(catalogue()))
def test_infinities_are_no_distance_where_both_have_them(scheme: str) -> None:
    report = onnxpert.diagnose(Masked().eval(), (X,), quantize=scheme)
    assert report.ok, str(report)
    assert report.quantised is not None
    assert 0 < report.quantised.error < report.quantised.bound
