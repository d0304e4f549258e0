"""Numbers made from a count: `linspace(0, 1, n)` and `triu_indices(n, n)` stay open for a size `n`.

The count is a whole number to torch, so it is frozen before any operator is called."""

from __future__ import annotations

from typing import Any

import torch

from onnxpert.capture.detour import Call, detour
from onnxpert.capture.open_sizes.counted import COUNTED, one_hot
from onnxpert.capture.open_sizes.packed import known_number

_TRIANGLES = {torch.triu_indices: torch.triu, torch.tril_indices: torch.tril}
_SIDES = ("row", "col", "offset")
_CLASSES = ("tensor", "num_classes")


@detour(*COUNTED)
def counted(call: Call) -> Any:
    """A count of steps that is a size stays one."""
    made = COUNTED[call.func].called(*_given(call))
    return NotImplemented if made is None else made


@detour(*_TRIANGLES)
def triangle(call: Call) -> Any:
    args, kwargs = _given(call)
    asked = {**dict(zip(_SIDES, args, strict=False)), **kwargs}
    sides: list[Any] = [asked.get(name) for name in _SIDES[:2]]
    if asked.keys() - {*_SIDES, "device"} or not any(isinstance(n, torch.SymInt) for n in sides):
        return NotImplemented
    kept = _TRIANGLES[call.func](torch.ones(sides), asked.get("offset", 0))
    return kept.nonzero().transpose(0, 1)


@detour(torch.nn.functional.one_hot)
def classes(call: Call) -> Any:
    """As many classes as a symbol says."""
    args, kwargs = _given(call)
    asked = {**dict(zip(_CLASSES, args, strict=False)), **kwargs}
    count = asked.get("num_classes")
    return one_hot(asked["tensor"], count) if isinstance(count, torch.SymInt) else NotImplemented


def _given(call: Call) -> tuple[list[Any], dict[str, Any]]:
    return [*map(_size, call.args)], {name: _size(one) for name, one in call.kwargs.items()}


def _size(given: Any) -> Any:
    """A size that stands in a tensor, as itself; whatever else is given, as it is."""
    known = known_number(given) if isinstance(given, torch.Tensor) else None
    return given if known is None else known
