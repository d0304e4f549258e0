"""Attributes in which a model keeps what it makes of sizes: masks and tables of positions, made once.

A second call of the same kind leaves them alone, and nothing in them has been decided by the data. So
every call would make the same, and a file that makes it each time leaves nothing out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

_TABLES = ("_parameters", "_buffers")
_CONTAINERS = (dict, list, tuple)


class Caching:
    """What the attributes of the modules hold, at one call after the other."""

    def __init__(self, root: torch.nn.Module) -> None:
        self._root = root
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

    def names(self, is_decided: Callable[[Any], bool]) -> frozenset[str]:
        """Once it has run again: those that it left as they were, with nothing of the data's in them."""
        now = self._held()
        return frozenset(
            name
            for name, items in self._first.items()
            if _same(items, now.get(name, ())) and not is_decided(items)
        )

    def _held(self) -> dict[str, tuple[Any, ...]]:
        return {
            f"{path}.{name}" if path else name: items
            for path, part in self._root.named_modules()
            for name, value in _attributes(part)
            if (items := _tensors(value))
        }


def _attributes(part: torch.nn.Module) -> Iterator[tuple[str, Any]]:
    for name, value in vars(part).items():
        if name in _TABLES:
            yield from value.items()
        elif not name.startswith("_") or isinstance(value, (torch.Tensor, *_CONTAINERS)):
            yield name, value


def _tensors(value: Any) -> tuple[Any, ...]:
    """The tensors that something holds, if it holds nothing else: a number may be a count."""
    if not isinstance(value, (torch.Tensor, *_CONTAINERS)):
        return ()
    leaves = pytree.tree_leaves(value)
    return tuple(leaves) if all(isinstance(each, torch.Tensor) for each in leaves) else ()


def _same(one: tuple[Any, ...], two: tuple[Any, ...]) -> bool:
    return len(one) == len(two) and all(a is b for a, b in zip(one, two, strict=True))
