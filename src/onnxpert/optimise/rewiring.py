"""What the passes do to a graph: look back from a node, and take it out of the way."""

from __future__ import annotations

import onnx_ir as ir


def only_input(node: ir.Node, op_type: str) -> ir.Node | None:
    """The node that makes a node's first input, if it is of this type of the standard's."""
    value = node.inputs[0] if node.inputs else None
    before = None if value is None else value.producer()
    return (
        before if before is not None and (before.domain, before.op_type) == ("", op_type) else None
    )


def constant(value: ir.Value | None) -> ir.TensorProtocol | None:
    """The tensor of a constant; weights are none, as another training may change them."""
    return None if value is None or value.meta.get("weight") else value.const_value


def rank(value: ir.Value) -> int | None:
    """How many axes a value has; inside a branch or a loop only its lowering has noted them."""
    if value.shape is not None:
        return len(value.shape)
    sizes = None if value.meta.get("complex") else value.meta.get("shape")
    return None if sizes is None else len(sizes)


def bypass(node: ir.Node, value: ir.Value) -> None:
    """Whoever read the node's output reads `value`, which takes its name if a graph gives it out."""
    output, graph = node.outputs[0], node.graph
    if not output.is_graph_output():
        ir.convenience.replace_all_uses_with(output, value)
        return
    maker = value.producer()
    if maker is None or graph is None or maker.graph is not graph or value.is_graph_output():
        node.attributes.clear()
        node.op_type = "Identity"
        node.resize_inputs(1)
        node.replace_input_with(0, value)
        return
    output.replace_all_uses_with(value, replace_graph_outputs=True)
    name, output.name = output.name, None
    value.name = name
