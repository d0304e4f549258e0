"""`torch.vander(x)`: as many powers as a size says, where torch takes a number for it."""

from __future__ import annotations

from typing import Any

import torch

from onnxpert.capture.detour import Call, detour
from onnxpert.capture.surrounding.catching import ask


@detour(torch.vander, torch.linalg.vander)
def vander(call: Call) -> Any:
    """From 1 on, each the one before times x; of numpy's order the last first."""
    rising = call.func is torch.linalg.vander
    given = dict(zip(("x",) if rising else ("x", "N", "increasing"), call.args, strict=False))
    given |= {"x" if name == "input" else name: value for name, value in call.kwargs.items()}
    x, count = given.get("x"), given.get("N")
    if not isinstance(x, torch.Tensor) or not x.dim():
        return NotImplemented
    count = x.shape[-1] if count is None else count
    if not isinstance(count, torch.SymInt) or x.dtype is torch.bool:
        return NotImplemented
    ask(lambda: count > 1, RuntimeError("N must be greater than 1."))
    column = x.unsqueeze(-1)
    # Never of nothing: ONNX Runtime goes through no empty list.
    factors = torch.cat([torch.ones_like(column), column.expand(*x.shape, count - 1)], -1)
    powers = factors.cumprod(-1)
    return powers if rising or given.get("increasing") else powers.flip(-1)
