"""Elements picked by a size: `x[:, n - 1]` stays open, where torch would take a number for `n - 1`.

Python's brackets ask a symbol for its number before any operator is called. `select` takes the symbol,
so it is called first, and the brackets get what is left. They leave a slice out that ends beyond the
tensor, and take `x[:, :n]` for one of those where there are two elements: to torch no size is 1."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

from onnxpert.capture.detour import Call, detour
from onnxpert.capture.open_sizes.cutting import is_settled_by
from onnxpert.capture.surrounding.catching import ask

aten = torch.ops.aten
Tensor = torch.Tensor


@detour(Tensor.__getitem__)
def read(call: Call) -> Any:
    """A symbol in the brackets of a tensor is no number."""
    if not _has_symbol(call.args[1]):
        return NotImplemented
    picked, rest = _picked(call.args[0], _numbers(call.args[1]))
    return picked[rest] if rest else picked


@detour(Tensor.__setitem__)
def written(call: Call) -> Any:
    x, index, value = call.args
    if not _has_symbol(index):
        return NotImplemented
    picked, rest = _picked(x, _numbers(index))
    picked[rest or ...] = value
    return None


def _has_symbol(index: Any) -> bool:
    if isinstance(index, tuple):
        return any(map(_has_symbol, index))
    if isinstance(index, slice):  # which takes a symbol for its start, but no tensor that is one
        numbers = map(_is_number, (index.start, index.stop, index.step))
        return isinstance(index.stop, torch.SymInt) or any(numbers)
    if isinstance(index, list):
        return any(isinstance(each, torch.SymInt) for each in index)
    return isinstance(index, torch.SymInt) or _is_number(index)


def _is_number(index: Any) -> bool:
    """`x[i]` with a tensor that is one whole number, of a run: it picks, as the number does."""
    return (
        isinstance(index, FakeTensor)
        and index.dim() == 0
        and index.dtype in (torch.int8, torch.int16, torch.int32, torch.int64)
    )


def _numbers(index: Any) -> Any:
    if isinstance(index, tuple):
        return tuple(map(_numbers, index))
    if isinstance(index, slice):
        return slice(*map(_numbers, (index.start, index.stop, index.step)))
    if isinstance(index, list) and _has_symbol(index):
        return torch.tensor(index)
    return index.item() if _is_number(index) else index


def _picked(x: Tensor, index: Any) -> tuple[Tensor, tuple[Any, ...]]:
    """The tensor with every symbol's element taken, and the index without them."""
    entries = list(index) if isinstance(index, tuple) else [index]
    axes = list(_axes(x, entries))
    # From the last axis to the first: the numbers of those before it stay what they are.
    for place, (entry, axis) in reversed(list(enumerate(zip(entries, axes, strict=True)))):
        if isinstance(entry, slice) and is_settled_by(entry.stop, x.shape[axis]):
            x = aten.slice.Tensor(x, axis, entry.start, entry.stop, entry.step or 1)
            entries[place] = slice(None)
        elif isinstance(entry, torch.SymInt):
            size = x.shape[axis]
            within = functools.partial(_is_within, entry, size)
            ask(within, IndexError(f"index {entry} is out of bounds for dimension {axis}"))
            x = torch.select(x, axis, entry)
    return x, tuple(each for each in entries if not isinstance(each, torch.SymInt))


def _is_within(index: torch.SymInt, size: int | torch.SymInt) -> bool:
    return bool(index < size) and bool(index >= -size)


def _axes(x: Tensor, entries: Sequence[Any]) -> Iterator[int]:
    """The axis at which each entry stands."""
    axis = 0
    for entry in entries:
        yield axis
        axis += x.dim() - sum(map(_width, entries)) if entry is Ellipsis else _width(entry)


def _width(entry: Any) -> int:
    """How many axes an entry speaks of."""
    if entry is None or entry is Ellipsis or isinstance(entry, bool):
        return 0
    if isinstance(entry, Tensor) and entry.dtype in (torch.bool, torch.uint8):
        return entry.dim()
    return 1
