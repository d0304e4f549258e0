"""Products that ONNX Runtime crashes on while it loads a file.

It folds a transpose into the product that reads it, through a cast as well. Where the transpose moves
the first axis inwards and the other operand is a constant of fewer dimensions, it removes the
transpose and reads it again: seen in 1.23 and 1.31, not in 1.17 and 1.20."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx_ir as ir

# It takes them out of the way, or the transpose through them.
_MOVING = frozenset({
    "Identity", "Cast", "Dropout", "Expand", "Concat", "Split", "Slice", "Pad", "Squeeze",
    "Unsqueeze", "Where", "Gather", "Tile",
})  # fmt: skip
_MOST_STEPS = 8


def smaller_constant(node: ir.Node) -> int | None:
    """Which operand of a product has too few dimensions; None where nothing is wrong with it."""
    import onnx_ir as ir  # `doctor` goes through the targets without it

    if node.op_type != "MatMul" or node.domain or len(node.inputs) != 2:
        return None
    for index in (0, 1):
        weight, turned = node.inputs[index], node.inputs[1 - index]
        if weight is None or turned is None or weight.shape is None:
            continue
        casts = turned.dtype == ir.DataType.FLOAT16  # which the runtime casts by itself
        rank = _turned_rank(turned, casts, _MOST_STEPS)
        if len(weight.shape) < rank and _is_constant(weight, _MOST_STEPS):
            return index
    return None


def _turned_rank(value: ir.Value, casts: bool, steps: int) -> int:
    """The rank of a transpose behind a value that moves the first axis inwards, and of a cast; or 0."""
    node = value.producer()
    if node is None or node.domain or not steps:
        return 0
    if node.op_type == "Transpose":
        perm = node.attributes.get("perm")
        axes = [] if perm is None else list(perm.as_ints())
        inwards = {(*range(1, len(axes) - 1), 0, len(axes) - 1), (*range(1, len(axes)), 0)}
        return len(axes) if casts and len(axes) > 2 and tuple(axes) in inwards else 0
    if node.op_type not in _MOVING:
        return 0
    casts = casts or node.op_type == "Cast"
    return max((_turned_rank(v, casts, steps - 1) for v in node.inputs if v is not None), default=0)


def _is_constant(value: ir.Value, steps: int) -> bool:
    """A weight, or made of nothing else: the runtime computes it while it loads."""
    node = value.producer()
    if node is None:
        return value.is_initializer() or value.const_value is not None
    return bool(steps) and all(v is None or _is_constant(v, steps - 1) for v in node.inputs)
