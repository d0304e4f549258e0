"""Tables kept by size: `self.masks[n]` takes a size for its key, where torch would not hash one.

A size that varies is found under itself. Against the numbers that are keys already it is compared one
by one, which is a question about the size like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from onnxpert.core.belongings import namespaces

_MOST_KEYS = 8  # a table of more numbers is no cache


class Table(dict[Any, Any]):
    """A dict that takes sizes for keys, alone or in a tuple."""

    stands_in_for = dict  # whoever looks at what a model holds sees what it keeps here

    def __init__(self, plain: dict[Any, Any]) -> None:
        super().__init__(plain)
        self._before = plain.copy()
        self._open: dict[Any, Any] = {}  # by the expressions of the sizes

    def give_back(self, plain: dict[Any, Any]) -> None:
        """What was changed here is changed there; a hook may have written to the plain one itself."""
        for key in self._before.keys() - self.keys():
            plain.pop(key, None)
        before = self._before
        plain.update(
            {k: value for k, value in self.items() if k not in before or before[k] is not value}
        )

    def __contains__(self, key: Any) -> bool:
        if not _is_open(key):
            return super().__contains__(key)
        return _spelled(key) in self._open or any(_equal(key, known) for known in self)

    def __getitem__(self, key: Any) -> Any:
        if not _is_open(key):
            return super().__getitem__(key)
        if _spelled(key) in self._open:
            return self._open[_spelled(key)]
        return super().__getitem__(next((known for known in self if _equal(key, known)), str(key)))

    def __setitem__(self, key: Any, value: Any) -> None:
        if _is_open(key):
            self._open[_spelled(key)] = value
        else:
            super().__setitem__(key, value)

    def get(self, key: Any, default: Any = None) -> Any:
        if key in self:
            return self[key]
        return default

    def setdefault(self, key: Any, default: Any = None) -> Any:
        if key not in self:
            self[key] = default
        return self[key]


class Sizes(set[Any]):
    """A set that takes sizes, alone or in a tuple."""

    stands_in_for = set

    def __init__(self, plain: set[Any]) -> None:
        super().__init__(plain)
        self._before = plain.copy()
        self._open: dict[Any, Any] = {}

    def give_back(self, plain: set[Any]) -> None:
        plain.difference_update(self._before - self)
        plain.update(self - self._before)

    def add(self, item: Any) -> None:
        if _is_open(item):
            self._open[_spelled(item)] = item
        else:
            super().add(item)

    def __contains__(self, item: Any) -> bool:
        if not _is_open(item):
            return super().__contains__(item)
        return _spelled(item) in self._open or any(_equal(item, known) for known in self)


def _is_open(key: Any) -> bool:
    if isinstance(key, tuple):
        return any(map(_is_open, key))
    return isinstance(key, torch.SymInt)


def _spelled(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(map(_spelled, key))
    return ("size", str(key.node.expr)) if isinstance(key, torch.SymInt) else key


def _equal(key: Any, known: Any) -> bool:
    if isinstance(key, tuple) and isinstance(known, tuple) and len(key) == len(known):
        return all(_equal(one, other) for one, other in zip(key, known, strict=True))
    if isinstance(key, tuple) or isinstance(known, tuple):
        return False
    return bool(key == known) if type(key) in (int, torch.SymInt) else key is known or key == known


_KINDS: dict[type, Callable[[Any], Table | Sizes]] = {dict: Table, set: Sizes}


@contextmanager
def open_tables(root: torch.nn.Module) -> Iterator[None]:
    """While on, the small dicts and sets that the model and its code hold take sizes; what is put there
    is gone after."""
    torchs = vars(torch.nn.Module())  # parameters, hooks and such, which every module has
    found = [
        (names, name, value)
        for names in namespaces(root)
        for name, value in names.items()
        if type(value) in _KINDS and name not in torchs and name[:2] != "__" and _is_small(value)
    ]
    # One may have two names.
    tables = {id(value): _KINDS[type(value)](value) for _, _, value in found}
    for names, name, value in found:
        names[name] = tables[id(value)]
    try:
        yield
    finally:
        for names, name, value in found:
            table = names.get(name)
            if isinstance(table, (Table, Sizes)):
                table.give_back(value)
                names[name] = value


def _is_small(table: dict[Any, Any] | set[Any]) -> bool:
    return len(table) <= _MOST_KEYS and all(isinstance(key, (int, tuple)) for key in table)
