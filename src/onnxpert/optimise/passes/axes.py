"""An axis that comes and goes: Squeeze after Unsqueeze, with or without a Transpose between."""

from __future__ import annotations

import onnx_ir as ir

from onnxpert.optimise.rewiring import bypass, constant, only_input, rank


def cancel(model: ir.Model) -> None:
    for node in model.graph.all_nodes():
        if node.op_type != "Squeeze" or node.domain:
            continue
        turn = only_input(node, "Transpose")
        added = only_input(turn or node, "Unsqueeze")
        made = None if added is None else rank(added.outputs[0])
        if added is None or added.inputs[0] is None or made is None:
            continue
        gone, new = _axis(node, made), _axis(added, made)
        order = list(range(made))
        if turn is not None:
            order = list(turn.attributes["perm"].as_ints())
        if gone is None or new is None or order[gone] != new:
            continue
        rest = [axis - (axis > new) for place, axis in enumerate(order) if place != gone]
        if rest == sorted(rest):
            bypass(node, added.inputs[0])
        else:
            node.resize_inputs(1)
            node.replace_input_with(0, added.inputs[0])
            node.op_type = "Transpose"
            node.attributes["perm"] = ir.AttrInt64s("perm", rest)


def _axis(node: ir.Node, rank: int) -> int | None:
    """The one axis that is added or taken away, from the front."""
    axes = constant(node.inputs[1]) if len(node.inputs) > 1 else None
    if axes is None or axes.size != 1:
        return None
    return int(axes.numpy().reshape(-1)[0]) % rank
