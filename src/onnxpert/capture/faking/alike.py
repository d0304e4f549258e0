"""Shapes of calls that give back what they were given, at sizes that vary.

torch works these out by running what they are made of, dozens of calls on symbols each; the result has
the shape of the argument, and one allocation says so."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

aten = torch.ops.aten
Tensor = torch.Tensor


def _varies(*tensors: Tensor) -> bool:
    return any(isinstance(size, torch.SymInt) for tensor in tensors for size in tensor.shape)


def _like(input: Tensor, *_: Any, **__: Any) -> Any:
    if not _varies(input) or not input.is_floating_point():
        return NotImplemented
    return input.new_empty(input.shape)


def _rolled(input: Tensor, *_: Any) -> Any:
    return input.new_empty(input.shape) if _varies(input) else NotImplemented


def _running(input: Tensor, dim: int, *, dtype: torch.dtype | None = None) -> Any:
    if not _varies(input) or not -input.dim() <= dim < input.dim():
        return NotImplemented
    whole = not (input.is_floating_point() or input.is_complex())
    return input.new_empty(input.shape, dtype=dtype or (torch.int64 if whole else input.dtype))


def _cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, *_: Any) -> Any:
    if not _varies(input) or not _fits(input, hx, w_ih, w_hh):
        return NotImplemented
    return hx.new_empty(hx.shape)


def _lstm_cell(input: Tensor, hx: Any, w_ih: Tensor, w_hh: Tensor, *_: Any) -> Any:
    if not _varies(input) or not all(_fits(input, each, w_ih, w_hh) for each in hx):
        return NotImplemented
    return tuple(each.new_empty(each.shape) for each in hx)


def _fits(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor) -> bool:
    """Whether one step of a recurrent layer takes these, as far as that is plain to see."""
    if len({tensor.dtype for tensor in (input, hx, w_ih, w_hh)}) > 1 or input.dim() != 2:
        return False
    wide = (input.shape[1], w_ih.shape[1]), (hx.shape[1], w_hh.shape[1])
    widths = all(type(a) is int and a == b for a, b in wide)
    return widths and str(input.shape[0]) == str(hx.shape[0])


def _distances(x1: Tensor, x2: Tensor, *_: Any) -> Any:
    """torch's own asks whether there are more than 25 of them, for the sake of a kernel."""
    if not _varies(x1, x2) or x1.dim() != x2.dim() or x1.dim() < 2 or x1.dtype != x2.dtype:
        return NotImplemented
    around = zip(x1.shape[:-2], x2.shape[:-2], strict=True)
    if any(str(one) != str(other) for one, other in around):
        return NotImplemented
    torch._check(x1.shape[-1] == x2.shape[-1])  # type: ignore[no-untyped-call]
    return x1.new_empty((*x1.shape[:-1], x2.shape[-2]))


def _copied(input: Tensor, src: Any, *_: Any) -> Any:
    """torch's own compares sizes with 2, to see whether elements share their memory: then it would know
    that `w - 1` is no less."""
    if not isinstance(input, FakeTensor) or not isinstance(src, FakeTensor):
        return NotImplemented
    is_shared = any(type(stride) is int and not stride for stride in input.stride())
    sizes = zip(reversed(src.shape), reversed(input.shape), strict=False)
    fits = src.dim() <= input.dim() and all(_is_number_one(a) or str(a) == str(b) for a, b in sizes)
    return input if fits and not is_shared and _varies(input) else NotImplemented


def _is_number_one(size: Any) -> bool:
    return type(size) is int and size == 1


LIKE: dict[Any, Callable[..., Any]] = {
    aten.relu.default: _like,
    aten.gelu.default: _like,
    aten.silu.default: _like,
    aten.sigmoid.default: _like,
    aten.tanh.default: _like,
    aten.roll.default: _rolled,
    aten.cumsum.default: _running,
    aten.cumprod.default: _running,
    aten.gru_cell.default: _cell,
    aten.rnn_tanh_cell.default: _cell,
    aten.rnn_relu_cell.default: _cell,
    aten.lstm_cell.default: _lstm_cell,
    aten.cdist.default: _distances,
    aten.copy_.default: _copied,
}
