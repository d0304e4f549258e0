"""Below opset 13, axes and sizes of a few operators are attributes and not inputs."""

from __future__ import annotations

import onnx_ir as ir

from onnxpert.optimise.rewiring import constant

_ATTRIBUTE = {"Squeeze": "axes", "Unsqueeze": "axes", "ReduceSum": "axes", "Split": "split"}


def write(model: ir.Model) -> None:
    """The lowering, which writes the newer form everywhere, has seen to it that they are constant."""
    if model.opset_imports.get("", 13) >= 13:
        return
    for node in model.graph.all_nodes():
        name = _ATTRIBUTE.get(node.op_type)
        if node.domain or name is None or len(node.inputs) < 2:
            continue
        numbers = constant(node.inputs[1])
        assert numbers is not None
        node.attributes[name] = ir.AttrInt64s(name, numbers.numpy().reshape(-1).tolist())
        node.resize_inputs(1)
