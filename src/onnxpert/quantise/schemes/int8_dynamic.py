"""Weights in 8 bits beforehand, activations as they come."""

from __future__ import annotations

from onnxpert.quantise.scheme import Work, scheme
from onnxpert.quantise.silence import quietly


@scheme(
    "int8-dynamic",
    operators=frozenset({"MatMul", "Conv", "LSTM", "Gather"}),
    bound=0.1,
    splits_gemm=True,
)
def int8_dynamic(work: Work) -> None:
    """Weights in 8 bits, the range of each activation found while the file runs."""
    with quietly():
        from onnxruntime.quantization import QuantType, quantize_dynamic

        convolutions = [name for name, kind in work.layers.items() if kind == "Conv"]
        others = [name for name, kind in work.layers.items() if kind != "Conv"]
        # A convolution of bytes with signed weights is ten times slower than with unsigned ones,
        # and older releases have none; a matrix product likes them signed.
        steps = [(convolutions, QuantType.QUInt8), (others, QuantType.QInt8)]
        source = work.source
        for number, (nodes, kind) in enumerate((names, kind) for names, kind in steps if names):
            step = work.destination.with_name(f"{work.destination.stem}.{number}.onnx")
            quantize_dynamic(
                source,
                step,
                op_types_to_quantize=["MatMul", "Conv", "LSTM", "Gather"],
                per_channel=True,
                weight_type=kind,
                nodes_to_quantize=nodes,
                use_external_data_format=True,
            )
            source = step
        source.replace(work.destination)
