"""Attributes and variables in which a model keeps what it makes of sizes: masks and tables of positions, made once.

A second call of the same kind leaves them alone, and nothing in them has been decided by the data. So
every call would make the same, and a file that makes it each time leaves nothing out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from onnxpert.capture.state import Changes
from onnxpert.core.tables import Table

_TABLES = ("_parameters", "_buffers")
_CONTAINERS = (dict, list, tuple)
_NUMBERS = (int, float)
_LEAVES = (torch.Tensor, *_NUMBERS)
_KINDS = (*_LEAVES, *_CONTAINERS)
_MOST = 4096  # things in a container that is looked into


class Caching:
    """What the attributes of the modules hold, at one call after the other."""

    def __init__(self, root: torch.nn.Module, tables: Sequence[Table]) -> None:
        self._root = root
        self._tables = tables  # of objects and containers, and of the variables of code
        self._before = self._held()
        self._first: Mapping[str, tuple[Any, ...]] = {}

    def called(self) -> bool:
        """Once the model has run: whether that has changed an attribute which may be a cache."""
        now = self._held()
        self._first = {
            name: items
            for name, items in now.items()
            if not _same(items, self._before.get(name, ()))
        }
        return bool(self._first)

    def names(
        self, is_decided: Callable[[Any], bool], anew: Collection[str], *, read: bool
    ) -> frozenset[str]:
        """Once it has run again: those that it left as they were, with nothing of the data's in them.
        A number may come of what Python has `read`, and says nothing where it was given `anew`."""
        now = self._held()
        return frozenset(
            name
            for name, items in self._first.items()
            if _same(items, now.get(name, ())) and not is_decided(items)
            if all(map(_is_tensor, items)) or not (read or name in anew)
        )

    def _held(self) -> dict[str, tuple[Any, ...]]:
        return {name: items for name, value in self._named() if (items := _items(value))}

    def _named(self) -> Iterator[tuple[str, Any]]:
        for table in self._tables:
            yield from table.contents()
        for path, part in self._root.named_modules():
            yield from (
                (f"{path}.{name}" if path else name, value) for name, value in _attributes(part)
            )


def properties(root: torch.nn.Module, changes: Changes) -> Iterator[str]:
    """Those that `functools.cached_property` keeps, whose function is given nothing of a call's."""
    parts = dict(root.named_modules())
    for name in changes.attributes:
        path, _, attribute = name.rpartition(".")
        kind, attribute = changes.owners.get(name, (type(parts.get(path)), attribute))
        if isinstance(inspect.getattr_static(kind, attribute, None), functools.cached_property):
            yield name


def _attributes(part: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in vars(part).items():
        if name in _TABLES:
            yield from value.items()
        elif not name.startswith("_") or isinstance(value, _KINDS):
            yield name, value


def _items(value: Any) -> tuple[Any, ...]:
    """The tensors and numbers that something holds, if it holds nothing else: a flag says what was done."""
    if not isinstance(value, _KINDS) or isinstance(value, bool):
        return ()
    if isinstance(value, _LEAVES):
        return (value,)
    if not value or len(value) > _MOST:  # as the tables of hooks are, of which a module has a dozen
        return ()
    leaves = pytree.tree_leaves(value)
    plain = all(isinstance(each, _LEAVES) and not isinstance(each, bool) for each in leaves)
    return tuple(leaves) if plain else ()


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _same(one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
    pairs = zip(one, two, strict=False)
    return len(one) == len(two) and all(a is b or _is_equal(a, b) for a, b in pairs)


def _is_equal(one: Any, two: Any) -> bool:
    return type(one) is type(two) and isinstance(one, _NUMBERS) and one == two
