"""Ends that are cut off: `x[:, :512]`, `x[:, -3:]` and `x[1:-1]` are as long as there is something to take.

torch asks whether the tensor is longer, and from then on takes the example's answer for the only one."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true
from torch.utils._sympy.functions import Max, Min

from onnxpert.capture.open_sizes.ones import is_at_least
from onnxpert.capture.open_sizes.turns import length_between

_sym: Any = torch  # whose functions of symbols have no types


def cut(
    input: torch.Tensor, dim: int = 0, start: Any = None, end: Any = None, step: Any = 1
) -> Any:
    """aten.slice where it is known what is left; NotImplemented where torch has nothing to ask."""
    if not -input.dim() <= dim < input.dim() or type(step) is not int or step < 1:
        return NotImplemented
    length = length_between(start, end, input.shape[dim]) if step == 1 else None
    if length is not None:
        return _between(input, dim, start, length)
    first = 0 if start is None else start
    last = None if type(end) is int and end == sys.maxsize else end
    return _at_numbers(input, dim, first, last, step) if type(first) is int else NotImplemented


def _at_numbers(input: torch.Tensor, dim: int, first: int, last: Any, step: int) -> Any:
    size: Any = input.shape[dim]
    if is_settled_by(last, size) and first == 0 and step == 1:
        return input.narrow(dim, 0, _sym.sym_min(last, size))
    is_size = isinstance(size, torch.SymInt) and size.node.has_hint()
    if type(last) not in (int, type(None)) or not is_size:
        return NotImplemented
    kept = _kept(size, first, last)
    if not _is_open(kept, size):
        return NotImplemented
    place = _least(size, first) if first >= 0 else _no_less(size + first)
    return _between(input, dim, place, (kept + step - 1) // step, step)


def _between(input: torch.Tensor, dim: int, place: Any, length: Any, step: int = 1) -> torch.Tensor:
    sizes, strides = list(input.shape), list(input.stride())
    offset = input.storage_offset() + place * strides[dim]
    sizes[dim], strides[dim] = length, strides[dim] * step
    return input.as_strided(sizes, strides, offset)


def is_settled_by(end: Any, size: Any) -> bool:
    """Whether an end is beyond the size, or the size, to torch alone, for which no size is less than 2."""
    if not isinstance(end, torch.SymInt) or not end.node.has_hint() or type(size) is not int:
        return False
    return statically_known_true(end >= size) and not is_at_least(end, size)


def _kept(size: Any, first: int, last: int | None) -> Any:
    """How many lie between two places, in words that are the same for all ways to leave out as many."""
    if first < 0 and (last is None or last < 0):
        return _no_less(_least(size, -first) + (last or 0))
    end = size if last is None else size + last if last < 0 else _least(size, last)
    return _no_less(end - (first if first >= 0 else _no_less(size + first)))


def _least(size: Any, number: int) -> Any:
    if is_at_least(size, number):
        return number
    return size if statically_known_true(size <= number) else _sym.sym_min(size, number)


def _no_less(size: Any) -> Any:
    """Than nothing."""
    return size if is_at_least(size, 0) else _sym.sym_max(size, 0)


def _is_open(kept: Any, size: torch.SymInt) -> bool:
    """Whether the number kept depends on which of two is the larger."""
    if not isinstance(kept, torch.SymInt):
        return False
    return bool(kept.node.expr.atoms(Max, Min) - size.node.expr.atoms(Max, Min))
