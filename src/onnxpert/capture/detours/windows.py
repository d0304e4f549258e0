"""Windows of a size that varies, of which torch wants whole numbers: pooling, and `unfold`.

`avg_pool2d(x, x.shape[2:])` takes whole numbers, so torch freezes the sizes before any operator is
called. Seen from outside of torch's own functions they are still sizes. A window as large as the input is
none, but a mean or a maximum. Windows side by side are an axis of their own; others are gathered, one
axis after the other, and a mean divides by how many of each count. `torch._C._nn` is torch's own; tried
on 2.13 and 2.15."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn import functional

from onnxpert.capture.detour import Call, detour
from onnxpert.capture.reasoning import expression
from onnxpert.capture.surrounding.catching import ask

Tensor = torch.Tensor
_sym: Any = torch  # whose functions of symbols have no types


def _mean(x: Tensor, dims: list[int]) -> Tensor:
    return x.mean(dims, keepdim=True)


def _largest(x: Tensor, dims: list[int]) -> Tensor:
    return x.amax(dims, keepdim=True)


@dataclass(frozen=True, slots=True)
class _Line:
    """The windows along one axis."""

    size: Any
    window: Any
    step: Any
    margin: Any
    rounds_up: bool

    @property
    def behind(self) -> Any:
        """How much has to be beyond the end for the last window to be whole."""
        if not self.rounds_up:
            return self.margin
        free = self.size + 2 * self.margin - self.window
        # No window starts in the padding behind.
        starting = (self.size + self.margin - 1) // self.step
        last = _sym.sym_min((free + self.step - 1) // self.step, starting) * self.step
        return _sym.sym_max(last + self.window - self.size - self.margin, 0)

    def counted(self, with_margins: bool) -> Tensor:
        """How many elements of each window a mean is of."""
        places = torch.ones([self.size])
        margins = [self.margin, self.margin] if with_margins else [0, 0]
        places = functional.pad(places, margins, value=1.0)
        rest = [self.margin - margins[0], self.behind - margins[1]]
        return _unfolded(functional.pad(places, rest), 0, self.window, self.step).sum(-1)


@dataclass(frozen=True, slots=True)
class _Pool:
    """Over how many axes, what is made of a window, what is beyond the borders; its further arguments."""

    rank: int
    over: Callable[[Tensor, list[int]], Tensor]
    beyond: float
    names: tuple[str, ...]

    def called(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        names = ("input", "kernel_size", "stride", "padding", *self.names)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        x, windows = given["input"], self._each(given["kernel_size"])
        if not isinstance(x, Tensor) or x.dim() < self.rank:
            return NotImplemented
        dims = range(-self.rank, 0)
        stride, margins = given.get("stride"), self._each(given.get("padding", 0))
        steps = self._each(stride) if stride not in (None, [], ()) else windows
        is_padded = any(type(margin) is not int or margin for margin in margins)
        symbols = any(isinstance(size, torch.SymInt) for size in (*windows, *steps))
        own = given.get("divisor_override") is not None or given.get("return_indices", False)
        if not symbols or own:
            return NotImplemented
        if not is_padded and all(map(_is_same, windows, x.shape[-self.rank :])):
            return self.over(x, list(dims))
        rounds_up, counts = given.get("ceil_mode", False), given.get("count_include_pad", True)
        dilated = any(each != 1 for each in self._each(given.get("dilation", 1)))
        if dilated or ((is_padded or rounds_up) and not x.is_floating_point()):
            return NotImplemented
        for dim, window, step, margin in zip(dims, windows, steps, margins, strict=True):
            line = _Line(x.shape[dim], window, step, margin, rounds_up)
            if is_padded or rounds_up:
                behind = [0, 0] * (-1 - dim)
                x = functional.pad(x, [*behind, line.margin, line.behind], value=self.beyond)
            x = self.over(_unfolded(x, dim, line.window, line.step), [-1]).squeeze(-1)
            if self.over is _mean and (rounds_up or (is_padded and not counts)):
                share = line.window / line.counted(counts).to(x.dtype)
                x = x * share.reshape(-1, *[1] * (-1 - dim))
        return x

    def _each(self, given: Any) -> list[Any]:
        each = list(given) if isinstance(given, (list, tuple)) else [given]
        return each * self.rank if len(each) == 1 else each


_MEANS = ("ceil_mode", "count_include_pad", "divisor_override")
_LARGEST = ("dilation", "ceil_mode", "return_indices")
_MAXIMA: tuple[tuple[Any, Any], ...] = (
    (torch.max_pool1d, functional.max_pool1d),
    (torch.max_pool2d, functional.max_pool2d),
    (torch.max_pool3d, functional.max_pool3d),
)
_POOLS: dict[Any, _Pool] = {
    torch.avg_pool1d: _Pool(1, _mean, 0.0, _MEANS),
    torch._C._nn.avg_pool2d: _Pool(2, _mean, 0.0, _MEANS),
    torch._C._nn.avg_pool3d: _Pool(3, _mean, 0.0, _MEANS),
    **{
        pool: _Pool(rank, _largest, -math.inf, _LARGEST)
        for rank, pools in enumerate(_MAXIMA, start=1)
        for pool in pools
    },
}


_UNFOLD = ("self", "dimension", "size", "step")
_COLUMNS: dict[str, Any] = {
    "input": None,
    "kernel_size": 1,
    "dilation": 1,
    "padding": 0,
    "stride": 1,
}


@detour(*_POOLS)
def pooled(call: Call) -> Any:
    """Over windows of a size that varies."""
    return _POOLS[call.func].called(call.args, call.kwargs)


@detour(Tensor.unfold)
def unfolded(call: Call) -> Any:
    """Into windows of a size that varies."""
    given = {**dict(zip(_UNFOLD, call.args, strict=False)), **call.kwargs}
    if not any(isinstance(given[name], torch.SymInt) for name in _UNFOLD[2:]):
        return NotImplemented
    return _unfolded(*(given[name] for name in _UNFOLD))


@detour(functional.unfold)
def columns(call: Call) -> Any:
    """Each window of an image is a column."""
    given = {**_COLUMNS, **dict(zip(_COLUMNS, call.args, strict=False)), **call.kwargs}
    x = given.pop("input")
    pairs = [each if isinstance(each, (list, tuple)) else (each, each) for each in given.values()]
    (rows, columns), dilation, (above, beside), (down, right) = pairs
    symbols = any(isinstance(each, torch.SymInt) for each in (rows, columns, down, right))
    if not symbols or set(dilation) != {1}:
        return NotImplemented
    x = functional.pad(x, [beside, beside, above, above])
    windows = _unfolded(_unfolded(x, -2, rows, down), -2, columns, right)
    return windows.flatten(-4, -3).flatten(-2).transpose(-1, -2).flatten(-3, -2)


def _unfolded(x: Tensor, dim: int, size: Any, step: Any) -> Tensor:
    """`x.unfold(dim, size, step)`."""
    dim = dim % x.dim()
    last = x.shape[dim] - size
    ask(lambda: last >= 0, RuntimeError(f"maximum size for tensor at dimension {dim} is exceeded"))
    count = last // step + 1
    if _is_same(size, step):
        shape = (*x.shape[:dim], count, size, *x.shape[dim + 1 :])
        return x.narrow(dim, 0, count * size).reshape(shape).movedim(dim + 1, -1)
    first = torch.arange(count, device=x.device) * step
    places = first.unsqueeze(1) + torch.arange(size, device=x.device)
    return x.movedim(dim, -1)[..., places].movedim(-2, dim)


def _is_same(one: Any, other: Any) -> bool:
    return bool(expression(one) == expression(other))
