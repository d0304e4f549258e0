"""Things that Python holds, of which only a run of the file knows which one is meant: `layers[int(k)](x)`.

What is done with it is done with each of them, on a side of its own of a branch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch
from torch.fx.experimental.symbolic_shapes import statically_known_true

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import NUMBERS, SYMBOLS, Grown
from onnxpert.capture.written.sequences import Steps

Options: TypeAlias = Sequence[tuple[Callable[[], Any], Any]]  # whether it is that one, and which
Choose: TypeAlias = Callable[[Any, Callable[[], Any], Callable[[], Any]], Any]
_LISTS = (list, tuple, torch.nn.ModuleList, torch.nn.Sequential, torch.nn.ParameterList)
_MOST = 64
_sym: Any = torch  # whose functions of symbols have no types
_VALUES = (torch.Tensor, *NUMBERS)


@dataclass(frozen=True, slots=True, eq=False)
class Choice:
    """One of several functions or modules; the last where it is none of the others."""

    _options: Options
    _choose: Choose

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _of_each(self._options, self._choose, lambda one: one(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        options = [(test, getattr(one, name)) for test, one in self._options]
        return chosen_of(options, self._choose)


def is_open(held: Any, place: Any) -> bool:
    """Whether Python would need a number that is not there."""
    if isinstance(held, (Grown, Steps, torch.Size)) or not isinstance(held, (*_LISTS, dict)):
        return False
    if isinstance(place, torch.Tensor):
        return not place.dim() and not isinstance(held, dict) and place.dtype is not torch.bool
    return isinstance(place, SYMBOLS)


def is_pickable(held: Any) -> bool:
    """Whether whichever of these things is meant, what is done with it can be done with each."""
    if isinstance(held, (Grown, torch.Size)) or not isinstance(held, _LISTS):
        return False
    items = list(held)
    alike = all(isinstance(one, _VALUES) for one in items) or all(map(callable, items))
    return 0 < len(items) <= _MOST and alike


def is_open_part(held: Any, place: slice) -> bool:
    """`held[start:stop]` of things that Python holds, by a number that is not there."""
    ends = (place.start, place.stop)
    return (
        place.step in (None, 1)
        and isinstance(held, _LISTS)
        and not isinstance(held, (Grown, torch.Size))
        and any(isinstance(end, torch.SymInt) for end in ends)
    )


def part(held: Any, place: slice, choose: Choose) -> Steps:
    """`held[start:stop]`, which `is_open_part`."""
    size = len(held)
    start = 0 if place.start is None else _within(place.start, size)
    stop = size if place.stop is None else _within(place.stop, size)
    count = _sym.sym_max(stop - start, 0)
    return Steps(count, lambda turn: picked(held, start + turn, choose))


def _within(place: Any, size: int) -> Any:
    """A start or an end as Python takes it: negative from the end, then into 0..size."""
    before, within = _sym.sym_min(place, 0), _sym.sym_min(_sym.sym_max(place, 0), size)
    from_end = _sym.sym_max(before + size, 0) - size
    return within + from_end - _sym.sym_max(before, -1) * size


def is_asked_for(one: Any, held: Any) -> bool:
    """`one in held`, where a number that is not there would be compared with each of few others."""
    return (
        isinstance(one, SYMBOLS)
        and isinstance(held, (list, tuple, set, frozenset, dict))
        and not isinstance(held, Grown)
        and 0 < len(held) <= _MOST
        and all(isinstance(other, (*NUMBERS, *SYMBOLS)) for other in held)
    )


def picked(held: Any, place: Any, choose: Choose) -> Any:
    """`held[place]`, which `is_open`."""
    number = place if isinstance(place, torch.Tensor) else torch.scalar_tensor(place)
    items = list(held.items() if isinstance(held, dict) else enumerate(held))
    if not 0 < len(items) <= _MOST or not all(isinstance(key, int) for key, _ in items):
        raise UnwritableError("something is taken out of much that only Python knows")

    def is_at(key: int) -> Any:
        if isinstance(held, dict):
            return number == key
        return (number == key) | (number == key - len(items))  # or counted from the end

    return chosen_of([(functools.partial(is_at, key), one) for key, one in items], choose)


def is_beyond(held: Any, place: Any) -> torch.Tensor:
    """Whether nothing is there for a place, which `is_open`."""
    number = place if isinstance(place, torch.Tensor) else torch.scalar_tensor(place)
    if isinstance(held, dict):
        known = [key for key in held if isinstance(key, int)]
        return torch.stack([number != key for key in known]).all()
    return (number >= len(held)) | (number < -len(held))


def is_within(held: Any, place: Any) -> bool:
    """Whether something is surely there for a place: `layers[int(k) % len(layers)]`."""
    if not isinstance(place, torch.SymInt):
        return False
    keys = set(held) if isinstance(held, dict) else set(range(-len(held), len(held)))
    least, most = min(keys, default=1), max(keys, default=0)
    return (
        keys == set(range(least, most + 1))
        and statically_known_true(place >= least)
        and statically_known_true(place <= most)
    )


def found(held: Any, place: Any, other: Any, choose: Choose) -> Any:
    """`held.get(place, other)` of a dictionary."""
    number = torch.scalar_tensor(place)
    if len(held) > _MOST or not all(isinstance(key, int) for key in held):
        raise UnwritableError("something is taken out of much that only Python knows")
    options: Options = [(functools.partial(number.eq, key), one) for key, one in held.items()]
    return chosen_of([*options, (lambda: True, other)], choose)


def chosen_of(options: Options, choose: Choose) -> Any:
    """The one that it is; the last where it is none of the others."""
    if all(isinstance(one, _VALUES) for _, one in options):
        return _of_each(options, choose, lambda one: one)
    if not all(callable(one) for _, one in options):
        raise UnwritableError("one of several things that are no tensors is taken")
    return Choice(options, choose)


def _of_each(options: Options, choose: Choose, use: Callable[[Any], Any]) -> Any:
    (test, one), *rest = options
    if not rest:
        return use(one)
    return choose(test(), lambda: use(one), lambda: _of_each(rest, choose, use))
