"""Models that torch has quantised: read, written as integers and scales, and proven."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch
import torch.ao.nn.quantized as nnq
import torch.ao.nn.quantized.dynamic as nnqd
from torch import nn
from torch.nn import functional as F

import onnxpert

pytestmark = [
    # torch.ao is what is read here, whatever torch says of its future.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]
quantized = torch.ops.quantized


def kinds(report: onnxpert.Report) -> set[str]:
    assert report.path is not None
    return {node.op_type for node in onnx.load(report.path).graph.node}


def exported(model: nn.Module, x: Any, path: Path, **options: Any) -> onnxpert.Report:
    args = x if isinstance(x, tuple) else (x,)
    report = onnxpert.export(model.eval(), args, path / "model.onnx", **options)
    assert report.ok
    return report


class Between(nn.Module):
    """A function on a quantised tensor, and floats on both sides of it."""

    def __init__(self, function: Callable[..., torch.Tensor], dtype: torch.dtype) -> None:
        super().__init__()
        self.function = function
        self.dtype = dtype

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        zero = 100 if self.dtype is torch.quint8 else -20
        return self.function(torch.quantize_per_tensor(x, 0.05, zero, self.dtype)).dequantize()


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "nothing": lambda q: q,
    "relu": F.relu,
    "relu in place": lambda q: F.relu(q, inplace=True),
    "relu6": F.relu6,
    "clamp": lambda q: q.clamp(-1.0, 1.5),
    "hardtanh": F.hardtanh,
    "leaky_relu": lambda q: F.leaky_relu(q, 0.1),
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hardsigmoid": F.hardsigmoid,
    "max_pool": lambda q: F.max_pool2d(q, 2),
    "avg_pool": lambda q: F.avg_pool2d(q, 3),
    "adaptive": lambda q: F.adaptive_avg_pool2d(q, 1),
    "mean": lambda q: q.mean((2, 3)),
    "nearest": lambda q: F.interpolate(q, scale_factor=2.0, mode="nearest"),
    "bilinear": lambda q: F.interpolate(q, size=(9, 9), mode="bilinear"),
    "moves": lambda q: q.permute(0, 2, 3, 1).flatten(1)[:, 3:].unsqueeze(1).contiguous(),
    "cat": lambda q: torch.cat([q, q], 1),
    "chunk": lambda q: q.chunk(2, 1)[1],
    "integers": lambda q: torch.quantize_per_tensor(q.int_repr().float(), 1.0, 0, q.dtype),
    "scale": lambda q: torch.quantize_per_tensor(
        q.dequantize(), q.q_scale() * 2.1, q.q_zero_point() // 2, q.dtype
    ),
    "add": lambda q: quantized.add(q, q, 0.1, 7),
    "add_relu": lambda q: quantized.add_relu(q, q, 0.1, 7),
    "mul": lambda q: quantized.mul(q, q, 0.1, 7),
    "add a number": lambda q: quantized.add_scalar(q, 0.73),
    "take a number away": lambda q: quantized.add_scalar(q, -0.73),
    "times a number": lambda q: quantized.mul_scalar(q, 0.5),
    "times a negative": lambda q: quantized.mul_scalar(q, -0.5),
    "quantized cat": lambda q: quantized.cat([q, q], 1, 0.07, 11),
    "hardswish": lambda q: quantized.hardswish(q, 0.04, 3),
    "elu": lambda q: quantized.elu(q, 0.04, 30, 1.0, 1.0, 1.0),
    "layer_norm": lambda q: quantized.layer_norm(q, [8], None, None, 1e-5, 0.03, 20),
    "batch_norm": lambda q: quantized.batch_norm2d(
        q, torch.ones(4), torch.zeros(4), torch.full((4,), 0.2), torch.ones(4) * 2, 1e-5, 0.03, 20
    ),
}


@pytest.mark.parametrize("dtype", [torch.quint8, torch.qint8], ids=["quint8", "qint8"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_operator_on_quantised_tensors(name: str, dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    model, x = Between(FUNCTIONS[name], dtype), torch.randn(2, 4, 8, 8)
    try:
        with torch.no_grad():
            model(x)
    except (RuntimeError, NotImplementedError) as error:  # torch has no kernel for this dtype
        pytest.skip(str(error).splitlines()[0])
    exported(model, x, tmp_path, dynamic_shapes={"x": {0: "batch"}})


class Static(nn.Module):
    """What a small quantised network has: layers, a sum that is kept in range, views."""

    def __init__(self) -> None:
        super().__init__()
        self.quant = torch.ao.quantization.QuantStub()
        self.conv = nn.Conv2d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU()
        self.grouped = nn.Conv2d(8, 8, 3, padding=1, groups=2)
        self.sum = nnq.FloatFunctional()
        self.last = nn.Linear(8, 5)
        self.dequant = torch.ao.quantization.DeQuantStub()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.norm(self.conv(self.quant(x))))
        x = F.max_pool2d(self.sum.add(x, self.grouped(x)), 2)
        return self.dequant(self.last(x.mean((2, 3))))


def static(engine: str, fuse: bool = True) -> nn.Module:
    torch.manual_seed(0)
    model = Static().eval()
    if fuse:
        torch.ao.quantization.fuse_modules(model, [["conv", "norm", "relu"]], inplace=True)
    model.qconfig = torch.ao.quantization.get_default_qconfig(engine)
    prepared = torch.ao.quantization.prepare(model)
    for _ in range(4):
        prepared(torch.randn(4, 3, 8, 8))
    return torch.ao.quantization.convert(prepared)


@pytest.mark.parametrize("engine", ["x86", "qnnpack"])  # the one per channel, the other per tensor
def test_a_static_network_is_written_with_quantize_and_dequantize(
    engine: str, tmp_path: Path
) -> None:
    report = exported(
        static(engine), torch.randn(2, 3, 8, 8), tmp_path, dynamic_shapes={"x": {0: "batch"}}
    )
    assert {"QuantizeLinear", "DequantizeLinear", "Conv"} <= kinds(report)
    file = onnx.load(report.path)
    weights = {one.name: one for one in file.graph.initializer}
    assert weights["conv.weight"].data_type == onnx.TensorProto.INT8


def test_a_wrong_scale_is_found(tmp_path: Path) -> None:
    """A tenth more in the scales of a weight is far outside of what ties may do."""
    model, x = static("x86"), torch.randn(2, 3, 8, 8)
    report = exported(model, x, tmp_path)
    file = onnx.load(report.path)
    name = next(node for node in file.graph.node if node.input[0] == "conv.weight").input[1]
    scales = next(one for one in file.graph.initializer if one.name == name)
    wrong = onnx.numpy_helper.to_array(scales) * 1.1
    scales.CopyFrom(onnx.numpy_helper.from_array(wrong.astype("float32"), scales.name))
    onnx.save(file, tmp_path / "wrong.onnx")
    assert onnxpert.verify(tmp_path / "model.onnx", model, (x,)).ok
    assert not onnxpert.verify(tmp_path / "wrong.onnx", model, (x,)).ok


def test_fx(tmp_path: Path) -> None:
    from torch.ao.quantization import get_default_qconfig_mapping
    from torch.ao.quantization.quantize_fx import convert_fx, prepare_fx

    torch.manual_seed(0)
    x = torch.randn(2, 3, 8, 8)
    float_model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(144, 5), nn.Sigmoid()
    )
    prepared = prepare_fx(float_model.eval(), get_default_qconfig_mapping("x86"), (x,))
    prepared(torch.randn(16, 3, 8, 8))
    report = exported(convert_fx(prepared), x, tmp_path, dynamic_shapes={"input": {0: "batch"}})
    assert "QuantizeLinear" in kinds(report)


def dynamic(
    model: nn.Module, *layers: type[nn.Module], dtype: torch.dtype = torch.qint8
) -> nn.Module:
    torch.manual_seed(0)
    return torch.ao.quantization.quantize_dynamic(model.eval(), set(layers), dtype=dtype)


@pytest.mark.parametrize("engine", ["x86", "fbgemm", "onednn", "qnnpack"])
def test_a_dynamic_layer_multiplies_integers(
    engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if engine not in torch.backends.quantized.supported_engines:
        pytest.skip(f"this torch has no {engine}")
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = engine
    try:
        model = dynamic(nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)), nn.Linear)
        x = torch.randn(2, 3, 16)
        report = exported(model, x, tmp_path, dynamic_shapes={"input": {0: "batch", 1: "n"}})
    finally:
        torch.backends.quantized.engine = before
    assert "MatMulInteger" in kinds(report)
    assert all(row.atol == 1e-5 for row in report.verified if row.case == "example")


RECURRENT: dict[str, tuple[nn.Module, tuple[int, ...], Any]] = {
    "lstm": (
        nn.LSTM(6, 5, num_layers=2, bidirectional=True, batch_first=True),
        (2, 7, 6),
        {0: "batch", 1: "time"},
    ),
    "gru": (nn.GRU(6, 5), (7, 2, 6), {0: "time", 1: "batch"}),
    "lstm cell": (nn.LSTMCell(6, 5), (2, 6), {0: "batch"}),
    "gru cell": (nn.GRUCell(6, 5), (2, 6), {0: "batch"}),
    "rnn cell": (nn.RNNCell(6, 5, nonlinearity="relu"), (2, 6), {0: "batch"}),
}


@pytest.mark.parametrize("name", RECURRENT)
def test_a_recurrent_layer_that_quantises_at_every_step(name: str, tmp_path: Path) -> None:
    layer, sizes, dims = RECURRENT[name]
    model = dynamic(nn.Sequential(layer), type(layer))
    report = exported(model, torch.randn(*sizes), tmp_path, dynamic_shapes={"input": dims})
    if len(sizes) == 3:
        assert "Scan" in kinds(report)


def test_half_precision_weights(tmp_path: Path) -> None:
    model = dynamic(nn.Sequential(nn.Linear(6, 5), nn.ReLU()), nn.Linear, dtype=torch.float16)
    exported(model, torch.randn(2, 6), tmp_path)


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("transposed", [False, True], ids=["conv", "transposed"])
def test_convolutions(rank: int, transposed: bool, tmp_path: Path) -> None:
    torch.manual_seed(0)
    name = f"Conv{'Transpose' if transposed else ''}{rank}d"
    if transposed and rank == 3:
        pytest.skip("torch has no such kernel")
    before = torch.backends.quantized.engine
    torch.backends.quantized.engine = "qnnpack" if transposed else before
    try:
        layer = getattr(nnq, name)(4, 6, 3, stride=2, padding=1)
        weight = torch.quantize_per_tensor(torch.randn(layer.weight().shape), 0.02, 0, torch.qint8)
        layer.set_weight_bias(weight, torch.randn(6))
        layer.scale, layer.zero_point = 0.11, 120
        exported(Between(layer, torch.quint8), torch.randn(2, 4, *[7] * rank), tmp_path)
    finally:
        torch.backends.quantized.engine = before


def test_a_dynamic_convolution(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = nnqd.Conv2d(4, 6, 3)
    layer.set_weight_bias(
        torch.quantize_per_tensor(torch.randn(6, 4, 3, 3), 0.02, 0, torch.qint8), torch.randn(6)
    )
    exported(nn.Sequential(layer), torch.randn(2, 4, 7, 7), tmp_path)


@pytest.mark.parametrize("dtype", [torch.quint8, torch.quint4x2], ids=["8 bits", "4 bits"])
def test_tables(dtype: torch.dtype, tmp_path: Path) -> None:
    torch.manual_seed(0)
    table = nnq.Embedding(10, 8, dtype=dtype)
    values = torch.randn(10, 8)
    scales, zeros = torch.rand(10) * 0.1 + 0.2, torch.rand(10) * 7
    table.set_weight(torch.quantize_per_channel(values, scales, zeros, 0, dtype))
    report = exported(
        nn.Sequential(table),
        torch.randint(0, 10, (2, 3)),
        tmp_path,
        dynamic_shapes={"input": {0: "n"}},
    )
    assert "Gather" in kinds(report)


def test_a_bag_of_rows(tmp_path: Path) -> None:
    torch.manual_seed(0)
    bag = nnq.EmbeddingBag(10, 8, mode="sum", include_last_offset=False)
    values = torch.randn(10, 8)
    bag.set_weight(
        torch.quantize_per_channel(
            values, torch.rand(10) * 0.1 + 0.02, torch.rand(10), 0, torch.quint8
        )
    )
    exported(bag, (torch.randint(0, 10, (6,)), torch.tensor([0, 2, 4])), tmp_path)


def test_a_quantised_output_is_given_as_its_numbers(tmp_path: Path) -> None:
    class Quantises(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.quantize_per_tensor(x, 0.1, 3, torch.quint8)

    report = exported(Quantises(), torch.randn(2, 3), tmp_path)
    assert kinds(report) == {"QuantizeLinear", "DequantizeLinear"}


def test_a_quantised_buffer(tmp_path: Path) -> None:
    class Holds(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            scales, zeros = torch.rand(4) + 0.1, torch.arange(4)
            weight = torch.quantize_per_channel(torch.randn(4, 3), scales, zeros, 0, torch.qint8)
            self.register_buffer("weight", weight)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.linear(x, self.weight.dequantize())

    report = exported(Holds(), torch.randn(2, 3), tmp_path, dynamic_shapes={"x": {0: "batch"}})
    held = {one.data_type for one in onnx.load(report.path).graph.initializer}
    assert onnx.TensorProto.INT8 in held


class ByChannel(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(8, 4)

    def forward(self, x: torch.Tensor) -> Any:
        weight = self.layer.weight
        zeros = torch.zeros(4, dtype=torch.long)
        q = torch.quantize_per_channel(weight, weight.abs().amax(1) / 127, zeros, 0, torch.qint8)
        result = F.linear(x, q.dequantize(), self.layer.bias)
        return result, q.int_repr(), q.q_per_channel_scales(), q.q_per_channel_zero_points()


def test_weights_that_forward_quantises_by_channel(tmp_path: Path) -> None:
    assert exported(ByChannel().eval(), torch.randn(2, 8), tmp_path).ok


def test_an_input_that_is_quantised_is_refused() -> None:
    class Reads(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.dequantize() * 2

    x = torch.quantize_per_tensor(torch.randn(2, 3), 0.1, 3, torch.quint8)
    report = onnxpert.diagnose(Reads().eval(), (x,))
    assert [finding.rule for finding in report.findings] == ["INP105"]


def test_what_is_not_read_is_said_with_its_line() -> None:
    report = onnxpert.diagnose(Between(lambda q: q.sort()[0], torch.quint8), (torch.randn(2, 3),))
    assert [finding.rule for finding in report.findings if finding.blocks] == ["OPS511"]
    assert "aten.sort" in report.findings[0].message


def test_the_model_is_left_as_it_was(tmp_path: Path) -> None:
    model, x = static("x86"), torch.randn(2, 3, 8, 8)
    with torch.no_grad():
        before = model(x)
    exported(model, x, tmp_path)
    with torch.no_grad(), warnings.catch_warnings():
        assert torch.equal(model(x), before)
