"""Products with one, quotients by one, and nothing taken away."""

from __future__ import annotations

import onnx_ir as ir

from onnxpert.optimise.rewiring import bypass, constant, rank

# x + 0 is not among them: it turns -0.0 into 0.0.
_NEUTRAL = {"Mul": 1, "Div": 1, "Sub": 0}


def remove(model: ir.Model) -> None:
    for node in model.graph.all_nodes():
        neutral = _NEUTRAL.get(node.op_type)
        if neutral is None or node.domain or len(node.inputs) != 2:
            continue
        first, second = node.inputs
        if _is(second, neutral, first):
            bypass(node, first)  # type: ignore[arg-type]
        elif node.op_type == "Mul" and _is(first, neutral, second):
            bypass(node, second)  # type: ignore[arg-type]


def _is(value: ir.Value | None, number: int, other: ir.Value | None) -> bool:
    """Whether a value is this number, and does not add axes to the other."""
    tensor = constant(value)
    axes = None if other is None else rank(other)
    if tensor is None or tensor.size != 1 or axes is None:
        return False
    return len(tensor.shape) <= axes and bool((tensor.numpy() == number).all())
