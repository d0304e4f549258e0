"""The tensors and numbers that a model holds and may change: buffers, attributes, what those contain."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

_OWN = frozenset({"_parameters", "_buffers", "_modules", "training"})
_ABSENT = object()
_NUMBERS = {bool: torch.bool, int: torch.int64, float: torch.float64}


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """Where one is held: an attribute of a module, or an item of the list or dict in it."""

    module: torch.nn.Module
    attribute: str
    key: Any = _ABSENT  # of a container
    is_buffer: bool = False
    number: torch.dtype | None = None  # a Python number, and its type as a tensor

    @property
    def _table(self) -> dict[str, Any]:
        held = vars(self.module)
        buffers: dict[str, Any] = held["_buffers"]
        return buffers if self.is_buffer else held

    def read(self) -> Any:
        value = self._table.get(self.attribute, _ABSENT)
        return value if self.key is _ABSENT or value is _ABSENT else _item(value, self.key)

    def write(self, value: Any) -> None:
        if self.key is not _ABSENT:
            # The container may be the one that the user made: it is not changed, but replaced.
            held = self._table.get(self.attribute, _ABSENT)
            value = _with_item(held, self.key, value)
        if value is _ABSENT:
            self._table.pop(self.attribute, None)
        else:
            self._table[self.attribute] = value

    def tensor(self) -> Any:
        value = self.read()
        return value if self.number is None else torch.scalar_tensor(value, dtype=self.number)

    def take(self, tensor: torch.Tensor) -> None:
        self.write(tensor.clone() if self.number is None else tensor.item())


def _item(container: Any, key: Any) -> Any:
    if isinstance(container, dict):
        return container.get(key, _ABSENT)
    return container[key] if isinstance(container, list) and key < len(container) else _ABSENT


def _with_item(container: Any, key: Any, value: Any) -> Any:
    if isinstance(container, dict) or (container is _ABSENT and not isinstance(key, int)):
        changed: Any = {} if container is _ABSENT else copy.copy(container)
        changed[key] = value
        return {k: v for k, v in changed.items() if v is not _ABSENT}
    items = list(container) if isinstance(container, list) else []
    items += [None] * (key + 1 - len(items))
    items[key] = value
    return [item for item in items if item is not _ABSENT]


def remembered(module: torch.nn.Module) -> dict[str, tuple[Place, torch.Tensor]]:
    """Each of them by its name, copied as it is now."""
    return {name: (place, place.tensor().detach().clone()) for name, place in _places(module)}


def _places(module: torch.nn.Module) -> Iterator[tuple[str, Place]]:
    for path, part in module.named_modules():
        prefix = f"{path}." if path else ""
        for name, _ in part.named_buffers(recurse=False):
            yield prefix + name, Place(part, name, is_buffer=True)
        for name, value in vars(part).items():
            if name in _OWN or name.endswith(("_hooks", "_hooks_with_kwargs")):
                continue
            if _is_kept(value):
                yield prefix + name, Place(part, name, number=_NUMBERS.get(type(value)))
            for key, item in _items(value):
                if _is_kept(item):
                    number = _NUMBERS.get(type(item))
                    yield f"{prefix}{name}.{key}", Place(part, name, key, number=number)


def _is_kept(value: Any) -> bool:
    return isinstance(value, torch.Tensor) or type(value) in _NUMBERS


def _items(value: Any) -> Iterable[tuple[Any, Any]]:
    if type(value) is dict:
        return value.items()
    return enumerate(value) if type(value) is list else ()
