"""Ends that are cut off: `x[:, :512]` and `x[:, -3:]` are as long as the tensor where that is shorter.

torch asks whether the tensor is longer, and from then on takes the example's answer for the only one."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxpert.capture.open_sizes.turns import length_between

aten = torch.ops.aten


def cut(
    input: torch.Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Any:
    """aten.slice of the first, or of the last, so many elements; NotImplemented of any other."""
    if not -input.dim() <= dim < input.dim():
        return NotImplemented
    size: Any = input.shape[dim]
    length = length_between(start, end, size) if step == 1 else None
    if length is not None:
        strides = input.stride()
        sizes = [*input.shape[: dim % input.dim()], length, *input.shape[dim % input.dim() + 1 :]]
        return aten.as_strided.default(
            input, sizes, strides, input.storage_offset() + start * strides[dim]
        )
    count = _count(start, end) if step == 1 else 0
    if not count or not isinstance(size, torch.SymInt) or not size.node.has_hint():
        return NotImplemented
    if statically_known_true(size <= abs(count)) or statically_known_true(size >= abs(count)):
        return NotImplemented
    kept = torch.sym_min(size, abs(count))  # type: ignore[no-untyped-call]
    first, last = (0, kept) if count > 0 else (size - kept, size)
    return aten.slice.Tensor(input, dim, first, last)


def _count(start: Any, end: Any) -> int:
    """How many of the first, or negative: of the last; 0 where it is neither."""
    whole = end is None or (type(end) is int and end == sys.maxsize)
    if type(end) is int and not whole and start in (None, 0):
        return max(end, 0)
    return min(start, 0) if whole and type(start) is int else 0
