"""Another shape of the same elements, with as little shape arithmetic as can be."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir

from onnxpert.lower.symbols import Size, is_of_data, may_be_zero, same

TOLD = "onnxpert.sizes_told"


def origin(value: ir.Value) -> ir.Value:
    """The value before the reshapes that led to this one: one reshape does what several did. But for
    those that tell the runtime sizes which it does not know."""
    node = value.producer()
    while node is not None and node.op_type == "Reshape" and node.domain == "":
        if value.meta.get(TOLD):
            break
        before = node.inputs[0]
        if before is None or before.meta.get("shape") is None:
            break
        value, node = before, before.producer()
    return value


def means_zeros(wanted: Sequence[Size]) -> bool:
    """Whether a 0 among the sizes is one that is meant: one is known, or several may be in a run."""
    known = any(isinstance(size, int) and size == 0 for size in wanted)
    return known or len(_vanishing(wanted)) > 1


def _vanishing(wanted: Sequence[Size]) -> list[int]:
    """The axes on which the data may leave nothing: Reshape finds no other size beside such a one."""
    open_axes = [axis for axis, size in enumerate(wanted) if not isinstance(size, int)]
    decided = [axis for axis in open_axes if len(open_axes) > 1 and is_of_data(wanted[axis])]
    return [axis for axis in decided if may_be_zero(wanted[axis])]


def target(before: Sequence[Size] | None, wanted: Sequence[Size]) -> list[Size]:
    """What to ask Reshape for: 0 where a size stays and -1 for one that follows from the rest."""
    asked = list(wanted)
    if means_zeros(wanted):  # a 0 that is meant cannot be told from one that keeps a size
        return asked
    for axis, size in enumerate(wanted):
        kept = not isinstance(size, int) and before is not None and axis < len(before)
        if kept and before is not None and same(size, before[axis]):
            asked[axis] = 0
    open_axes = [axis for axis, size in enumerate(asked) if not isinstance(size, int)]
    follows = _vanishing(wanted)
    if not follows and open_axes:
        # Where nothing is left of a size that stays, no other one follows.
        stays = [axis for axis, size in enumerate(asked) if isinstance(size, int) and size == 0]
        follows = [axis for axis in stays if may_be_zero(wanted[axis])] or open_axes
    if follows:
        asked[follows[0]] = -1
    elif asked.count(0) == 1:
        # A size that ONNX Runtime cannot name is kept out of its plan of shared buffers, which
        # costs more in cold caches than it saves (a vision transformer: 4 %).
        asked[asked.index(0)] = -1
    return asked
