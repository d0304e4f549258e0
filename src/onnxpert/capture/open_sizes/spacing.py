"""Numbers made from a count: `linspace(0, 1, n)` and `triu_indices(n, n)` stay open for a size `n`.

The count is a whole number to torch, so it is frozen before any operator is called."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxpert.capture.open_sizes.counted import COUNTED
from onnxpert.capture.open_sizes.packed import known_number

_TRIANGLES = {torch.triu_indices: torch.triu, torch.tril_indices: torch.tril}
_SIDES = ("row", "col", "offset")


class OpenSteps(TorchFunctionMode):
    """While on, a count of steps that is a size stays one."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        if func in COUNTED:
            made = COUNTED[func].called(
                [*map(_size, args)], {k: _size(v) for k, v in given.items()}
            )
            if made is not None:
                return made
        if func in _TRIANGLES:
            asked = {**dict(zip(_SIDES, args, strict=False)), **given}
            sides = [_size(asked.get(name)) for name in _SIDES[:2]]
            plain = not asked.keys() - {*_SIDES, "device"}
            if plain and any(isinstance(side, torch.SymInt) for side in sides):
                kept = _TRIANGLES[func](torch.ones(sides), asked.get("offset", 0))
                return kept.nonzero().transpose(0, 1)
        return func(*args, **given)


def _size(given: Any) -> Any:
    """A size that stands in a tensor, as itself; whatever else is given, as it is."""
    known = known_number(given) if isinstance(given, torch.Tensor) else None
    return given if known is None else known
