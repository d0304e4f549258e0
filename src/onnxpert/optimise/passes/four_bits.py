"""Products with weights of four bits, for a runtime that has them as one operator.

ONNX Runtime makes `MatMulNBits` of a DequantizeLinear and a MatMul by itself, but then rounds the
activations to eight bits, which the model does not. Written here, it is told to compute in float32."""

from __future__ import annotations

import math

import numpy as np
import onnx_ir as ir

from onnxpert.targets.kernels import Kernels

DOMAIN = "com.microsoft"
_IN_FLOAT32 = 1
_CENTRE = (
    8  # what is added to a signed integer of four bits, and the zero point where none is given
)
_BLOCKS = frozenset({16, 32, 64, 128, 256})


def fuse(model: ir.Model, kernels: Kernels) -> None:
    """In place; what does not fit the operator stays as the standard has it."""
    if not kernels.knows(DOMAIN, "MatMulNBits", 1):
        return
    for node in tuple(model.graph):
        if node.op_type == "MatMul" and not node.domain and _fused(model.graph, node):
            model.opset_imports.setdefault(DOMAIN, 1)


def _fused(graph: ir.Graph, node: ir.Node) -> bool:
    x, right = node.inputs
    spread = None if right is None else right.producer()
    if x is None or x.dtype != ir.DataType.FLOAT or spread is None:
        return False
    if spread.op_type != "DequantizeLinear" or spread.attributes.get_int("axis", 1) != 0:
        return False
    block = spread.attributes.get_int("block_size", 0)
    parts = [None if value is None else value.const_value for value in spread.inputs]
    if block not in _BLOCKS or None in parts:
        return False
    integers, scales, *rest = parts
    assert integers is not None
    assert scales is not None
    depth, width = integers.shape.numpy()
    if integers.dtype != ir.DataType.INT4 or depth % block:
        return False
    stem = spread.inputs[0].name if spread.inputs[0] is not None else ""
    inputs = [
        x,
        _constant(graph, f"{stem}.packed", _packed(integers.numpy(), block)),
        _constant(graph, f"{stem}.scales", np.ascontiguousarray(scales.numpy().T).reshape(-1)),
    ]
    if rest and rest[0] is not None:
        zeros = _halves(rest[0].numpy().T)
        inputs.append(_constant(graph, f"{stem}.zero_points", zeros.reshape(-1)))
    numbers = {
        "K": depth,
        "N": width,
        "bits": 4,
        "block_size": block,
        "accuracy_level": _IN_FLOAT32,
    }
    product = ir.Node(
        DOMAIN,
        "MatMulNBits",
        inputs,
        [ir.AttrInt64(name, value) for name, value in numbers.items()],
        num_outputs=1,
        name=node.name,
        metadata_props=dict(node.metadata_props),
    )
    _take_over(graph, node, product)
    return True


def _take_over(graph: ir.Graph, node: ir.Node, product: ir.Node) -> None:
    old, new = node.outputs[0], product.outputs[0]
    new.name, new.shape, new.type = old.name, old.shape, old.type
    new.meta.update(old.meta)
    graph.insert_before(node, product)
    old.replace_all_uses_with(new, replace_graph_outputs=True)
    graph.remove(node, safe=True)


def _constant(graph: ir.Graph, name: str, array: np.ndarray) -> ir.Value:
    found = graph.initializers.get(name)
    if found is None:
        tensor = ir.tensor(array, name=name)
        found = ir.Value(
            name=name,
            shape=ir.Shape(array.shape),
            type=ir.TensorType(tensor.dtype),
            const_value=tensor,
        )
        graph.register_initializer(found)
    return found


def _packed(integers: np.ndarray, block: int) -> np.ndarray:
    """`(depth, width)` as `(width, blocks, bytes of a block)`."""
    depth, width = integers.shape
    return _halves(integers.T.reshape(width, depth // block, block))


def _halves(integers: np.ndarray) -> np.ndarray:
    """Two to a byte along the last axis, the first in its lower half."""
    whole = integers.astype(np.int8).astype(np.int16) + _CENTRE
    if whole.shape[-1] % 2:
        fill = np.full((*whole.shape[:-1], 1), _CENTRE, dtype=whole.dtype)
        whole = np.concatenate([whole, fill], axis=-1)
    pairs = whole.reshape(*whole.shape[:-1], math.ceil(whole.shape[-1] / 2), 2)
    return (pairs[..., 0] | (pairs[..., 1] << 4)).astype(np.uint8)
