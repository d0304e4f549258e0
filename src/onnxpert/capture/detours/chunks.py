"""Chunks of a size that varies: how many there are is asked, where torch takes a number for it.

`chunk(2)` gives one piece where there is one element. A number can only be taken for granted, a question
has both its sides in the file."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxpert.capture.detour import Call, detour

_NAMES = ("input", "chunks", "dim")


@detour(torch.chunk, torch.Tensor.chunk)
def chunks(call: Call) -> Any:
    given = {"dim": 0, **dict(zip(_NAMES, call.args, strict=False)), **call.kwargs}
    x, most, dim = given["input"], given["chunks"], given["dim"]
    size: Any = x.shape[dim] if isinstance(x, torch.Tensor) and x.dim() else None
    known = isinstance(size, torch.SymInt) and not free_unbacked_symbols(size)
    if not known or type(most) is not int or most < 1:
        return NotImplemented
    width = torch.sym_max((size + most - 1) // most, 1)  # type: ignore[no-untyped-call]
    count = (size + width - 1) // width
    many = next((number for number in range(most, 1, -1) if count == number), 1)
    sizes = [width] * (many - 1)
    return torch.split(x, [*sizes, size - width * (many - 1)], dim)
