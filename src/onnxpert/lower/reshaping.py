"""Another shape of the same elements, with as little shape arithmetic as can be."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onnxpert.lower.symbols import Size, same


def origin(value: ir.Value) -> ir.Value:
    """The value before the reshapes that led to this one: one reshape does what several did."""
    node = value.producer()
    while node is not None and node.op_type == "Reshape" and node.domain == "":
        before = node.inputs[0]
        if before is None or before.meta.get("shape") is None:
            break
        value, node = before, before.producer()
    return value


def is_empty(sizes: Sequence[Size]) -> bool:
    """Whether a size is known to be zero."""
    return any(isinstance(size, int) and size == 0 for size in sizes)


def target(before: Sequence[Size] | None, wanted: Sequence[Size]) -> list[Size]:
    """What to ask Reshape for: 0 where a size stays and -1 for one that follows from the rest."""
    asked = list(wanted)
    if is_empty(wanted):  # a 0 that is meant cannot be told from one that keeps a size
        return asked
    for axis, size in enumerate(wanted):
        kept = not isinstance(size, int) and before is not None and axis < len(before)
        if kept and before is not None and same(size, before[axis]):
            asked[axis] = 0
    open_axes = [axis for axis, size in enumerate(asked) if not isinstance(size, int)]
    if open_axes:
        asked[open_axes[0]] = -1
    elif asked.count(0) == 1:
        # A size that ONNX Runtime cannot name is kept out of its plan of shared buffers, which
        # costs more in cold caches than it saves (a vision transformer: 4 %).
        asked[asked.index(0)] = -1
    return asked
