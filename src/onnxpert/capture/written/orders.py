"""`sorted`, and `max` and `min` by a key, where only a run of the file knows what comes first."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import NUMBERS, SYMBOLS, Grown
from onnxpert.capture.written.sequences import Steps, listed, steps
from onnxpert.capture.written.units import Variables

if TYPE_CHECKING:
    from onnxpert.capture.written.flow import Flow

Function = Callable[..., Any]
_OPEN = (torch.Tensor, *SYMBOLS)


class Orders:
    """What rewritten code calls in place of these three."""

    def __init__(self, flow: Flow, collected: Callable[[Steps], Any]) -> None:
        self._flow = flow
        self._collected = collected  # a list of what there is to go through

    def sorted(self, over: Any, /, *, key: Function | None = None, reverse: bool = False) -> Any:
        found = steps(over)
        if found is None:
            items = list(over)
            keys = [key(item) for item in items] if key else items
            if not any(isinstance(part, _OPEN) for one in keys for part in _parts(one)):
                order = sorted(range(len(items)), key=keys.__getitem__, reverse=reverse)
                return [items[place] for place in order]
            found, columns = _at_places(items), _columns(keys)
            return [*map(_moved(found, _order(columns, reverse)), range(len(items)))]
        made = Steps(found.count, _moved(found, _order(self._keys(found, key), reverse)))
        # Several things at a place are had one place at a time, as a loop has them.
        return made if isinstance(found.item(0), tuple) else self._collected(made)

    def _keys(self, found: Steps, key: Function | None) -> list[torch.Tensor]:
        made = found if key is None else Steps(found.count, lambda at: key(found.item(at)))
        keys = self._collected(made)
        if not isinstance(keys, Grown) or keys.sizes is not None or keys.rows.dim() != 1:
            raise UnwritableError("what a list is sorted by is no plain number")
        return [keys.rows]

    def best(self, plain: Function, over: Any, key: Function) -> Any:
        """The first of those that no other one beats."""
        known = steps(over)
        found = _at_places(list(over)) if known is None else known
        held = [found.item(0), key(found.item(0))]

        def body(item: Any) -> None:
            value = key(item)
            better = value < held[1] if plain is builtins.min else value > held[1]
            held[:] = self._flow.chosen(better, lambda: (item, value), lambda: tuple(held))

        def put(values: Sequence[Any]) -> None:
            held[:] = values

        rest = Steps(found.count - 1, lambda place: found.item(place + 1))
        self._flow.through(rest, body, None, Variables(lambda: tuple(held), put))
        return held[0]


def _moved(found: Steps, order: torch.Tensor) -> Callable[[Any], Any]:
    return lambda place: found.item(torch.select(order, 0, place).item())


def _parts(key: Any) -> tuple[Any, ...]:
    return key if isinstance(key, tuple) else (key,)


def _columns(keys: Sequence[Any]) -> list[torch.Tensor]:
    """Keys that are tuples are compared by their first parts, and then by the next."""
    parts = [_parts(key) for key in keys]
    if len({len(one) for one in parts}) != 1:
        raise UnwritableError("what a list is sorted by differs in its number of parts")
    return [torch.stack([_tensor(part) for part in column]) for column in zip(*parts, strict=True)]


def _tensor(part: Any) -> torch.Tensor:
    if isinstance(part, torch.Tensor) and part.numel() == 1:
        return part.reshape(())
    if not isinstance(part, NUMBERS):
        raise UnwritableError("what a list is sorted by is no plain number")
    return torch.scalar_tensor(part)  # type: ignore[arg-type]


def _order(columns: Sequence[torch.Tensor], reverse: bool) -> torch.Tensor:
    """The places in their order; those that are equal stay as they were, backwards too."""
    order: torch.Tensor | None = None
    for column in reversed(columns):
        keys = column if order is None else column[order]
        found = torch.sort(keys, stable=True, descending=reverse).indices
        order = found if order is None else order[found]
    assert order is not None
    return order


def _at_places(items: Sequence[Any]) -> Steps:
    """Things of which Python knows how many, by a place that it does not know."""
    if items and all(isinstance(item, tuple) and len(item) == len(items[0]) for item in items):
        parts = [_at_places(column) for column in zip(*items, strict=True)]
        return Steps(len(items), lambda place: tuple(part.item(place) for part in parts))
    if items and all(type(item) is type(items[0]) and isinstance(item, NUMBERS) for item in items):
        numbers = torch.tensor(items)
        return Steps(len(items), lambda place: torch.select(numbers, 0, place).item())
    found = listed(items)
    if found is None:
        raise UnwritableError("a list is sorted whose items are no tensors that look alike")
    return found
