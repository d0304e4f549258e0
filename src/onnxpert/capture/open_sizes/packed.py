"""Shapes of packed sequences: torch's own take the number of steps for known, which only data know."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import constrain_range

aten = torch.ops.aten
Tensor = torch.Tensor
KNOWN = "_onnxpert_first"  # a size that is the first element: of `batch_sizes`, how many sequences


def known_number(value: Tensor) -> Any:
    """What `.item()` of a tensor gives, where that is a size; None where only the data know."""
    return getattr(value, KNOWN, None) if value.dim() == 0 else None


def _pack(input: Tensor, lengths: Tensor, batch_first: bool) -> Any:
    batch, time = (0, 1) if batch_first else (1, 0)
    torch._check(lengths.shape[0] == input.shape[batch])  # type: ignore[no-untyped-call]
    environment: Any = input.fake_mode.shape_env  # type: ignore[attr-defined]
    steps, rows = environment.create_unbacked_symint(), environment.create_unbacked_symint()
    for size in (steps, rows):
        constrain_range(size, min=1, max=None)
    torch._check(steps <= input.shape[time])  # type: ignore[no-untyped-call]
    torch._check(rows >= steps)  # type: ignore[no-untyped-call]
    data = input.new_empty((rows, *input.shape[2:]))
    batch_sizes = torch.empty((steps,), dtype=torch.int64)
    setattr(batch_sizes, KNOWN, input.shape[batch])
    return data, batch_sizes


def _pad(data: Tensor, batch_sizes: Tensor, batch_first: bool, _: Any, total_length: Any) -> Any:
    batch = getattr(batch_sizes, KNOWN, None)
    if batch is None:
        return NotImplemented
    steps = total_length if total_length > 0 else batch_sizes.shape[0]
    sizes = (batch, steps) if batch_first else (steps, batch)
    return data.new_empty((*sizes, *data.shape[1:])), torch.empty((batch,), dtype=torch.int64)


def _select(input: Tensor, dim: int, index: Any) -> Any:
    first = getattr(input, KNOWN, None)
    if first is None or not isinstance(index, int) or index:
        return NotImplemented
    out = aten.select.int(input, dim, index)
    setattr(out, KNOWN, first)
    return out


PACKED: dict[Any, Callable[..., Any]] = {
    aten._pack_padded_sequence.default: _pack,
    aten._pad_packed_sequence.default: _pad,
    aten.select.int: _select,
}


@contextmanager
def open_lengths() -> Iterator[None]:
    """While on, `pad_packed_sequence` takes a length that is a symbol, which the operator does not."""
    functions: Any = torch._VF
    plain = functions._pad_packed_sequence

    def padded(
        data: Tensor, batch_sizes: Tensor, batch_first: bool, padding_value: Any, total_length: Any
    ) -> Any:
        if not isinstance(total_length, torch.SymInt):
            return plain(data, batch_sizes, batch_first, padding_value, total_length)
        out, lengths = plain(data, batch_sizes, batch_first, padding_value, -1)
        time = 1 if batch_first else 0
        missing = [0, 0] * (out.dim() - 1 - time) + [0, total_length - out.shape[time]]
        return torch.nn.functional.pad(out, missing, value=padding_value), lengths

    functions.__dict__["_pad_packed_sequence"] = padded
    try:
        yield
    finally:
        del functions.__dict__["_pad_packed_sequence"]
