"""The functional form of each in-place operator: its name without the underscore, but for a few."""

from __future__ import annotations

from typing import Any

import torch

aten = torch.ops.aten

_SPECIAL: dict[Any, Any] = {
    aten.__ior__.Tensor: aten.bitwise_or.Tensor,
    aten.__iand__.Tensor: aten.bitwise_and.Tensor,
    aten.__ixor__.Tensor: aten.bitwise_xor.Tensor,
    aten.__ilshift__.Tensor: aten.bitwise_left_shift.Tensor,
    aten.__irshift__.Tensor: aten.bitwise_right_shift.Tensor,
    aten.normal_.default: aten.normal_functional.default,
}


def functional(target: Any) -> Any | None:
    """The overload that gives the result instead of writing it, or None."""
    if target in _SPECIAL:
        return _SPECIAL[target]
    namespace, _, name = target._schema.name.partition("::")
    if not name.endswith("_") or name.endswith("__"):
        return None
    packet = getattr(getattr(torch.ops, namespace), name[:-1], None)
    if packet is None:
        return None
    return getattr(packet, target._overloadname, None)
