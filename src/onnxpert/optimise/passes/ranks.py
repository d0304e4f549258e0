"""Constants given as many dimensions as what they are multiplied with, where a runtime needs that."""

from __future__ import annotations

import onnx_ir as ir

from onnxpert.optimise.rewiring import rank
from onnxpert.targets.turned_products import smaller_constant


def level(model: ir.Model) -> None:
    for node in tuple(model.graph.all_nodes()):
        index = smaller_constant(node)
        if index is None:
            continue
        weight, other = node.inputs[index], node.inputs[1 - index]
        assert weight is not None
        assert other is not None
        missing = (rank(other) or 0) - (rank(weight) or 0)
        # A vector is a column on the right and a row on the left: the lowering has seen to it.
        if missing > 0 and rank(weight) != 1:
            node.replace_input_with(index, _raised(model, node, weight, missing))


def _raised(model: ir.Model, near: ir.Node, weight: ir.Value, missing: int) -> ir.Value:
    """With dimensions of size 1 in front."""
    axes = ir.Value(
        name=f"{near.name}/leading",
        shape=ir.Shape([missing]),
        type=ir.TensorType(ir.DataType.INT64),
        const_value=ir.tensor(list(range(missing)), ir.DataType.INT64, f"{near.name}/leading"),
    )
    model.graph.register_initializer(axes)
    node = ir.Node("", "Unsqueeze", [weight, axes], num_outputs=1, name=f"{near.name}/raised")
    node.metadata_props.update(near.metadata_props)
    result = node.outputs[0]
    result.name = f"{weight.name}/{near.name}/raised"
    result.type = weight.type
    result.shape = ir.Shape([*[1] * missing, *(weight.shape or ())])
    assert near.graph is not None
    near.graph.insert_before(near, node)
    return result
