"""Lowered models, made by hand, so that saving is tested without a lowering."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir
import pytest
import torch

from onnxpert.core.types import Lowered


def value(name: str, tensor: torch.Tensor) -> ir.Value:
    wrapped = ir.tensor_adapters.TorchTensor(tensor, name=name)
    shape = ir.Shape(list(tensor.shape))
    return ir.Value(name=name, type=ir.TensorType(wrapped.dtype), shape=shape, const_value=wrapped)


@pytest.fixture
def lower() -> Callable[..., Lowered]:
    """`lower({"w": tensor, ...})` is the sum of x and of every weight, cast to x's float32."""

    def make(weights: Mapping[str, torch.Tensor], *, opset: int = 20, op: str = "Add") -> Lowered:
        kind = ir.TensorType(ir.DataType.FLOAT)
        x = ir.Value(name="x", type=kind, shape=ir.Shape(["n"]))
        nodes: list[ir.Node] = []
        values = [value(name, tensor) for name, tensor in weights.items()]

        def emit(op_type: str, *inputs: ir.Value, **attributes: Any) -> ir.Value:
            listed = [ir.AttrInt64(key, number) for key, number in attributes.items()]
            node = ir.Node("", op_type, list(inputs), listed, name=f"node_{len(nodes)}")
            node.outputs[0].name = f"value_{len(nodes)}"
            nodes.append(node)
            return node.outputs[0]

        total = x
        for weight in values:
            wide = emit("Cast", weight, to=ir.DataType.FLOAT.value)
            total = emit(op, total, emit("ReduceSum", wide, keepdims=0))
        if not values:
            total = emit("Identity", x)
        total.type, total.shape = kind, ir.Shape(["n"])
        graph = ir.Graph(
            [x], [total], nodes=nodes, initializers=values, opset_imports={"": opset}, name="main"
        )
        model = ir.Model(graph, ir_version=10, producer_name="test")
        model.metadata_props["onnxpert.dim.n"] = "1.."
        return Lowered(model, opset)

    return make
