"""The checker of the onnx package with strict shape inference, without handing it the weights."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onnxpert.core.types import Lowered
from onnxpert.save.layout import NOWHERE
from onnxpert.save.skeleton import large_weights, skeleton

if TYPE_CHECKING:
    import onnx


def check(lowered: Lowered) -> tuple[str, ...]:
    """What the ONNX standard holds against the model, one line each; empty when nothing.

    Large weights are shown to the checker as typed inputs: it never looks at their values."""
    import onnx

    known = onnx.defs.onnx_opset_version()
    opset = lowered.model.opset_imports.get("", 0)
    if opset > known:
        return (f"opset {opset} cannot be checked: onnx {onnx.__version__} knows up to {known}",)
    proto = skeleton(lowered.model, dict.fromkeys(large_weights(lowered.model), NOWHERE))
    _weights_to_inputs(proto.graph)
    negative = tuple(_negative_sizes(proto.graph))
    if negative:  # onnx does not refuse them: it ends the process
        return negative
    try:
        onnx.checker.check_model(proto, full_check=True)
    except (onnx.checker.ValidationError, onnx.shape_inference.InferenceError) as error:
        return _problems(str(error))
    return ()


def _negative_sizes(graph: onnx.GraphProto) -> Iterator[str]:
    for value in (*graph.input, *graph.output, *graph.value_info):
        sizes = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if any(size < 0 for size in sizes):
            yield f"{value.name} has a negative size: its shape is {sizes}"


def _weights_to_inputs(graph: onnx.GraphProto) -> None:
    import onnx

    inputs = {value.name for value in graph.input}
    kept = []
    for tensor in graph.initializer:
        if tensor.data_location != onnx.TensorProto.EXTERNAL:
            kept.append(tensor)
        elif tensor.name not in inputs:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    del graph.initializer[:]
    graph.initializer.extend(kept)


def _problems(text: str) -> tuple[str, ...]:
    lines = (line.strip() for line in text.splitlines())
    return tuple(line for line in lines if line and not line.endswith("Inference error(s):"))
