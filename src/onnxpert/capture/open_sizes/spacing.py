"""Numbers made from a count: `linspace(0, 1, n)` and `triu_indices(n, n)` stay open for a size `n`.

The count is a whole number to torch, so it is frozen before any operator is called. Counting and
multiplying takes a symbol; from the middle on torch counts down from the end, and so it is here."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxpert.capture.open_sizes.packed import known_number

_NAMES = ("start", "end", "steps")
_TRIANGLES = {torch.triu_indices: torch.triu, torch.tril_indices: torch.tril}
_SIDES = ("row", "col", "offset")


class OpenSteps(TorchFunctionMode):
    """While on, a count of steps that is a size stays one."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        if func is torch.linspace:
            spaced = {**dict(zip(_NAMES, args, strict=False)), **given}
            steps = _size(spaced.get("steps"))
            dtype = spaced.get("dtype") or torch.get_default_dtype()
            plain = not spaced.keys() - {*_NAMES, "dtype", "device"} and dtype.is_floating_point
            if plain and isinstance(steps, torch.SymInt):
                return _spaced(spaced["start"], spaced["end"], steps, dtype)
        if func in _TRIANGLES:
            asked = {**dict(zip(_SIDES, args, strict=False)), **given}
            sides = [_size(asked.get(name)) for name in _SIDES[:2]]
            plain = not asked.keys() - {*_SIDES, "device"}
            if plain and any(isinstance(side, torch.SymInt) for side in sides):
                kept = _TRIANGLES[func](torch.ones(sides), asked.get("offset", 0))
                return kept.nonzero().transpose(0, 1)
        return func(*args, **given)


def _size(steps: Any) -> Any:
    return known_number(steps) if isinstance(steps, torch.Tensor) else steps


def _spaced(start: Any, end: Any, steps: Any, dtype: torch.dtype) -> torch.Tensor:
    count = torch.arange(steps, dtype=dtype)
    step = (end - start) / torch.sym_max(steps - 1, 1)  # type: ignore[no-untyped-call]
    half = torch.sym_max(steps // 2, 1)  # type: ignore[no-untyped-call]
    result = torch.where(count < half, start + step * count, end - step * ((steps - 1) - count))
    return result.to(dtype)
