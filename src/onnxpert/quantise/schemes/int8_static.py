"""Weights and activations in 8 bits, with the ranges that calibration inputs show."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.quantise.scheme import Feeds, Work, scheme
from onnxpert.quantise.silence import quietly

if TYPE_CHECKING:
    import onnx

# Between two convolutions these go on in 8 bits; elsewhere they would only lose digits.
_BETWEEN = frozenset(
    {
        "Add", "AveragePool", "Clip", "Concat", "Flatten", "GlobalAveragePool", "LeakyRelu",
        "MaxPool", "Relu", "Resize", "Reshape",
    }
)  # fmt: skip
_CONVOLUTIONS = frozenset({"Conv", "ConvTranspose"})


@scheme(
    "int8-static",
    operators=frozenset({"MatMul", "Gemm", "Conv", "ConvTranspose", "Gather"}),
    bound=0.1,
    calibrated=True,
    standard=True,
)
def int8_static(work: Work) -> None:
    """Weights per channel and activations in 8 bits, as QuantizeLinear and DequantizeLinear."""
    with quietly():
        import onnx
        from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

        between = _between(onnx.load(work.source, load_external_data=False).graph, work.layers)
        quantize_static(
            work.source,
            work.destination,
            _Reader(work.feeds),
            quant_format=QuantFormat.QDQ,
            op_types_to_quantize=sorted({*work.layers.values(), *between.values()}),
            nodes_to_quantize=[*work.layers, *between],
            per_channel=True,
            activation_type=QuantType.QInt8 if work.signed else QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            use_external_data_format=True,
            extra_options={
                # What a matrix product gives is not read by another in 8 bits.
                "OpTypesToExcludeOutputQuantization": ["MatMul", "Gemm"],
                # The runtime drops them by itself; here they keep the layers comparable.
                "QDQKeepRemovableActivations": True,
                "ActivationSymmetric": work.signed,
                "QuantizeBias": not work.signed,
            },
        )
        _spare_others(work.destination, {**work.layers, **between})


def _spare_others(path: Path, turned: Mapping[str, str]) -> None:
    """Nodes in float32 read what is not rounded: the quantiser rounds a value for all its readers.

    What a convolution gives stays rounded for all, or the runtime would compute it in float32."""
    import onnx

    model = onnx.load(path, load_external_data=False)
    makers = {name: node for node in model.graph.node for name in node.output}
    rounded: dict[str, str] = {}
    for node in model.graph.node:
        before = makers.get(node.input[0]) if node.op_type == "DequantizeLinear" else None
        if before is not None and before.op_type == "QuantizeLinear":
            maker = makers.get(before.input[0])
            if maker is None or turned.get(maker.name, "MatMul") in ("MatMul", "Gemm"):
                rounded[node.output[0]] = before.input[0]
    for node in model.graph.node:
        if node.name not in turned and node.op_type not in ("QuantizeLinear", "DequantizeLinear"):
            inputs = [rounded.get(name, name) for name in node.input]
            del node.input[:]
            node.input.extend(inputs)
    onnx.save(model, path)


def _between(graph: onnx.GraphProto, layers: Mapping[str, str]) -> dict[str, str]:
    """Nodes that read nothing but what convolutions of 8 bits give, by name."""
    weights = {tensor.name for tensor in graph.initializer}
    inside: set[str] = set()
    found: dict[str, str] = {}
    for node in graph.node:
        convolution = node.op_type in _CONVOLUTIONS and node.name in layers
        values = [name for name in node.input if name and name not in weights]
        if not convolution:
            if node.op_type not in _BETWEEN or not values or not inside.issuperset(values):
                continue
            found[node.name] = node.op_type
        inside.update(node.output)
    return found


class _Reader:
    """The calibration inputs, handed out one by one as the quantiser wants them."""

    def __init__(self, feeds: Feeds) -> None:
        self._left: Iterator[Mapping[str, object]] = iter(feeds)

    def get_next(self) -> Mapping[str, object] | None:
        return next(self._left, None)
