"""Sizes that a kernel of torch's takes for granted without a look: with others it ends the process.

What is said of them here is a condition of the model's, as it is where a kernel does look; the file
says so, and no proof at other sizes runs into it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import guard_or_false

from onnxpert.core.calls import calls
from onnxpert.core.types import Captured

aten = torch.ops.aten
Tensor = torch.Tensor


def _segments(
    data: Tensor,
    *_: Any,
    lengths: Tensor | None = None,
    offsets: Tensor | None = None,
    **__: Any,
) -> Any:
    """Every row of the data has a row of lengths or of offsets."""
    marks = lengths if lengths is not None else offsets
    if marks is not None and marks.dim() <= data.dim():
        for mine, given in zip(marks.shape[:-1], data.shape, strict=False):
            torch._check(mine == given)  # type: ignore[no-untyped-call]
    return NotImplemented


def _attention(query: Tensor, key: Tensor, value: Tensor, *_: Any, **__: Any) -> Any:
    """One batch, a value for every key, and as many heads; there may be more of the queries'."""
    if any(tensor.dim() != 4 for tensor in (query, key, value)):
        return NotImplemented
    for one, other in zip(key.shape, value.shape, strict=True):
        torch._check(one == other)  # type: ignore[no-untyped-call]
    torch._check(query.shape[0] == key.shape[0])  # type: ignore[no-untyped-call]
    torch._check(query.shape[3] == key.shape[3])  # type: ignore[no-untyped-call]
    if guard_or_false(query.shape[1] == key.shape[1]):
        torch._check(query.shape[1] == key.shape[1])  # type: ignore[no-untyped-call]
    return NotImplemented


UNLOOKED: dict[Any, Callable[..., Any]] = {
    aten.segment_reduce.default: _segments,
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
}

# Of torch 2.13; what stands in for it in a capture says what is asked of its sizes.
_ASKED_ELSEWHERE = frozenset({aten.lu_unpack.default})


def takes_for_granted(captured: Captured) -> bool:
    """Whether the model must not be called at sizes other than those that its capture allows."""
    return any(node.target in {*UNLOOKED, *_ASKED_ELSEWHERE} for node in calls(captured.root))
