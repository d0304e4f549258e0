"""What a loop goes through when only a run knows how much of it there is: things by their place."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import SYMBOLS, ByPlace, Grown
from onnxpert.capture.written.pages import same_size

_NO_END = type(None)
_sym: Any = torch  # whose functions of symbols have no types


class Steps(ByPlace):
    """So many things, and the one at a place. A list, to functions that ask for one."""

    count: Any  # no method, as it is of Python's

    def __init__(self, count: Any, item: Callable[[Any], Any]) -> None:
        super().__init__()
        self.count = count
        self.item = item

    def __iter__(self) -> Any:
        raise UnwritableError("the items of a sequence are not known")

    def __len__(self) -> int:
        raise UnwritableError("the length of a sequence is not known")

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            is_turned = place.step == -1 and place.start is place.stop is None
            return backwards(self) if is_turned else self._part(place)
        if not isinstance(place, int):
            return self.item(place)
        holds_at_least(self.count, place + 1 if place >= 0 else -place)
        return self.item(self.count + place if place < 0 else place)

    def _part(self, place: slice) -> Steps:
        step = 1 if place.step is None else place.step
        ends = (place.start, place.stop)
        if (
            type(step) is not int
            or step < 1
            or any(type(end) not in (int, _NO_END) for end in ends)
        ):
            raise UnwritableError("a part of a sequence is taken")
        start = 0 if place.start is None else self._within(place.start)
        stop = self.count if place.stop is None else self._within(place.stop)
        count = _sym.sym_max((stop - start + step - 1) // step, 0)
        return Steps(count, lambda turn: self.item(start + turn * step))

    def _within(self, end: int) -> Any:
        if end < 0:
            return _sym.sym_max(self.count + end, 0)
        return _sym.sym_min(self.count, end)


def holds_at_least(count: Any, least: int) -> None:
    """Of fewer than so many Python raises."""
    if isinstance(count, torch.SymInt) and not free_unbacked_symbols(count):
        torch._check(count >= least)  # type: ignore[no-untyped-call]


def steps(over: Any) -> Steps | None:
    """None where Python knows by itself how to go through."""
    if isinstance(over, Steps):
        return over
    if isinstance(over, Grown):
        return Steps(over.count, over.__getitem__)
    if isinstance(over, torch.Tensor) and over.dim() and isinstance(over.shape[0], torch.SymInt):
        return Steps(over.shape[0], lambda place: torch.select(over, 0, place))
    return None


def listed(over: Any) -> Steps | None:
    """So many things as Python knows, that can be had at a place that it does not know."""
    if isinstance(over, builtins.range):
        return Steps(len(over), lambda place: over.start + place * over.step)
    if not isinstance(over, (list, tuple)) or not over:
        return None
    if not all(isinstance(one, torch.Tensor) and _is_alike(one, over[0]) for one in over):
        return None
    whole = torch.stack(list(over))
    return Steps(len(over), lambda place: torch.select(whole, 0, place))


def _is_alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dtype is not other.dtype or one.dim() != other.dim():
        return False
    return all(same_size(a, b) for a, b in builtins.zip(one.shape, other.shape, strict=True))


def counted(*ends: Any) -> Any:
    """`range`."""
    if not any(isinstance(end, (*SYMBOLS, torch.Tensor)) for end in ends):
        return builtins.range(*ends)
    whole = [end.item() if isinstance(end, torch.Tensor) else end for end in ends]
    start, stop, step = (0, *whole, 1) if len(whole) == 1 else (*whole, 1)[:3]
    if not isinstance(step, int):
        # One piece, as long as all of it; of nothing Python raises.
        if same_size(stop - start, step):
            return [start]
        count = _turns(stop - start, step) + _turns(start - stop, -step)
        return Steps(count, lambda place: start + place * step)
    reach = stop - start if step > 0 else start - stop
    size = abs(step)
    count = _sym.sym_max((reach + size - 1) // size if size > 1 else reach, 0)
    return Steps(count, lambda place: start + place * step if step != 1 else start + place)


def _turns(reach: Any, step: Any) -> Any:
    """How often a step fits, begun ones too, if it leads there; backwards it never does."""
    forwards = _sym.sym_max(step, 1)
    is_forwards = _sym.sym_max(_sym.sym_min(step, 1), 0)
    return _sym.sym_max((reach + forwards - 1) // forwards, 0) * is_forwards


def zipped(*many: Any, strict: bool = False) -> Any:
    found = [steps(one) for one in many]
    if all(one is None for one in found):
        return builtins.zip(*many, strict=strict)
    count: Any = None
    for one, over in builtins.zip(found, many, strict=True):
        here = len(over) if one is None else one.count
        count = here if count is None else _fewer(count, here)
    items = [
        _by_place(over) if one is None else one.item
        for one, over in builtins.zip(found, many, strict=True)
    ]
    return Steps(count, lambda place: tuple(item(place) for item in items))


def _fewer(one: Any, other: Any) -> Any:
    return one if same_size(one, other) else _sym.sym_min(one, other)


def _by_place(over: Sequence[Any]) -> Callable[[Any], Any]:
    if isinstance(over, torch.Tensor):
        return lambda place: torch.select(over, 0, place)
    if all(isinstance(one, torch.Tensor) for one in over):
        whole = torch.stack(list(over))
        return lambda place: torch.select(whole, 0, place)
    raise UnwritableError("a list is read at a place that only the data know")


def numbered(over: Any, start: int = 0) -> Any:
    found = steps(over)
    if found is None:
        return builtins.enumerate(over, start)
    return Steps(found.count, lambda place: (place + start, found.item(place)))


def backwards(over: Any) -> Any:
    found = steps(over)
    if found is None:
        return builtins.reversed(over)
    return Steps(found.count, lambda place: found.item(found.count - 1 - place))


def pieces(tensor: torch.Tensor, size: Any, dim: int = 0) -> Steps:
    """`split`: the last one may be shorter."""
    length = tensor.shape[dim]
    count = _sym.sym_max((length + size - 1) // size, 1)

    def piece(place: Any) -> Any:
        start = place * size
        return torch.ops.aten.slice.Tensor(tensor, dim, start, start + size)

    return Steps(count, piece)
