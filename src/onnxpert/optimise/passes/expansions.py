"""Expand before an operator that broadcasts by itself, to a shape that its other operands have."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

_BROADCASTING = frozenset({
    "Add", "Sub", "Mul", "Div", "Mod", "Pow", "Max", "Min", "Where", "And", "Or", "Xor",
    "Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual",
    "BitwiseAnd", "BitwiseOr", "BitwiseXor",
})  # fmt: skip


def skip(model: ir.Model) -> None:
    for node in model.graph.all_nodes():
        if node.op_type not in _BROADCASTING or node.domain:
            continue
        for index, value in enumerate(node.inputs):
            before = None if value is None else value.producer()
            if value is None or before is None or (before.domain, before.op_type) != ("", "Expand"):
                continue
            others = [other.shape for place, other in enumerate(node.inputs)
                      if other is not None and place != index]  # fmt: skip
            if value.shape is not None and _have(others, value.shape):
                node.replace_input_with(index, before.inputs[0])


def _have(others: Sequence[ir.Shape | None], wanted: ir.Shape) -> bool:
    """Whether the other operands alone bring about every size."""
    return all(
        size == 1 or any(_at(shape, len(wanted) - axis) == size for shape in others)
        for axis, size in enumerate(wanted)
    ) and any(shape is not None and len(shape) >= len(wanted) for shape in others)


def _at(shape: ir.Shape | None, back: int) -> int | ir.SymbolicDim | None:
    if shape is None or back > len(shape):
        return None
    size = shape[-back]
    return None if isinstance(size, ir.SymbolicDim) and size.value is None else size
