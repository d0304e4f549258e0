"""Where the inner values of a model leave the range of their type: what it gives then is nobody's answer.

An iteration that converges near the example runs away elsewhere. Whether a product of such values is
infinite or NaN depends on the order in which a library adds up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode


class Overflow(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the calls whose results are not all numbers."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.calls: set[tuple[str, int]] = set()  # an operator, and how often it was called before
        self._met: dict[str, int] = {}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        out = func(*args, **(kwargs or {}))
        name = str(func)
        self._met[name] = self._met.get(name, -1) + 1
        if any(map(_is_beyond, out if isinstance(out, (list, tuple)) else (out,))):
            self.calls.add((name, self._met[name]))
        return out


def _is_beyond(out: Any) -> bool:
    if not isinstance(out, torch.Tensor) or out.layout is not torch.strided or out.is_quantized:
        return False
    return (out.is_floating_point() or out.is_complex()) and not bool(out.isfinite().all())
