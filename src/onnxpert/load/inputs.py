"""The inputs as a tree of named leaves, and back to the call that the user made."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy
import torch

from onnxpert.core.caches import cache_name, is_cache
from onnxpert.core.names import Names
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import SpecProblem
from onnxpert.load.containers import (
    INDIVISIBLE,
    Parts,
    Style,
    by_attributes,
    holds_tensor,
    take_apart,
)
from onnxpert.load.copies import copied
from onnxpert.load.signature import Bound


@dataclass(frozen=True, slots=True, eq=False)
class Leaf:
    """A value that is not taken further apart."""

    name: str
    path: str
    value: Any

    @property
    def is_tensor(self) -> bool:
        return isinstance(self.value, torch.Tensor)

    @property
    def is_int(self) -> bool:
        return isinstance(self.value, int) and not isinstance(self.value, bool)


@dataclass(frozen=True, slots=True, eq=False)
class Branch:
    """A container: its children under the keys that the user knows them by."""

    path: str
    kind: str
    keys: tuple[Any, ...]
    children: tuple[Leaf | Branch, ...]
    build: Callable[[Sequence[Any]], Any]


@dataclass(frozen=True, slots=True, eq=False)
class Entry:
    """One parameter of the call."""

    bound: Bound
    node: Leaf | Branch


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """All that the call gives, in the order of the signature."""

    entries: tuple[Entry, ...]
    problems: tuple[SpecProblem, ...]

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        return tuple(leaf for entry in self.entries for leaf in leaves_of(entry.node))

    def rebuild(self, values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The call again with other leaves: the same containers, the same order."""
        count = len(self.leaves)
        if len(values) != count:
            raise ValueError(f"{len(values)} values for {count} leaves")
        waiting = iter(values)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for entry in self.entries:
            value = _assemble(entry.node, waiting)
            if not entry.bound.positional:
                kwargs.update(value if entry.bound.variadic else {entry.bound.name: value})
            elif entry.bound.variadic:
                args += value
            else:
                args.append(value)
        return tuple(args), kwargs


def leaves_of(node: Leaf | Branch) -> Iterator[Leaf]:
    if isinstance(node, Leaf):
        yield node
    else:
        for child in node.children:
            yield from leaves_of(child)


def _assemble(node: Leaf | Branch, values: Iterator[Any]) -> Any:
    if isinstance(node, Leaf):
        value = next(values)
        # An empty cache is a leaf that the model fills: each call gets its own.
        return value if isinstance(value, INDIVISIBLE) else copied(value)
    return node.build([_assemble(child, values) for child in node.children])


def read_inputs(bound: Sequence[Bound]) -> Inputs:
    reader = _Reader(bound)
    entries = tuple(Entry(each, reader.entry(each)) for each in bound)
    return Inputs(entries, tuple(reader.problems))


class _Reader:
    """Walks the values once: names are unique over all of them, problems are gathered."""

    def __init__(self, bound: Sequence[Bound]) -> None:
        # What the user named keeps its name, whatever a list before it makes of its items.
        own = [_clean(name) for each in bound for name in _own_names(each)]
        self.names = Names(set(own))
        self.own = set(own)
        self.problems: list[SpecProblem] = []

    def entry(self, bound: Bound) -> Leaf | Branch:
        if bound.positional or not bound.variadic:
            return self.node(bound.value, bound.name, bound.name, ())
        # The user knows these by their own names; that they arrive in **kwargs is a detail.
        children = tuple(self.node(value, key, key, ()) for key, value in bound.value.items())
        keys = tuple(bound.value)

        def build(values: Sequence[Any]) -> dict[str, Any]:
            return dict(zip(keys, values, strict=True))

        return Branch(bound.name, "dict", keys, children, build)

    def node(
        self,
        value: Any,
        name: str,
        path: str,
        above: tuple[int, ...],
        within: tuple[Any, ...] | None = None,  # of a cache: the keys that led here
    ) -> Leaf | Branch:
        known = id(value) in above
        parts = None if known else take_apart(value)
        if parts is None and self.refuses(value, path) and not known:
            # It is said, and blocks; what else is in the way is found with its tensors as inputs.
            parts = by_attributes(value)
        if parts is None:
            wish = _clean(name) + (f".{cache_name(within)}" if within else "")
            return Leaf(self.name(wish, top=not above), path, value)
        if within is None and is_cache(value):
            within = ()
        children = tuple(
            self.node(
                child,
                f"{name}_{key}" if within is None else name,
                _step(path, key, parts),
                (*above, id(value)),
                None if within is None else (*within, key),
            )
            for key, child in zip(parts.keys, parts.children, strict=True)
        )
        return Branch(path, type(value).__name__, parts.keys, children, parts.build)

    def name(self, wish: str, *, top: bool) -> str:
        if top and wish in self.own:
            self.own.discard(wish)  # two names that are cleaned to one: the first keeps it
            return wish
        return self.names.unique(wish)

    def refuses(self, value: Any, path: str) -> bool:
        if isinstance(value, INDIVISIBLE) or not holds_tensor(value):
            return False
        kind = type(value)
        home = getattr(sys.modules.get(kind.__module__), "__file__", None)
        is_own = home is not None and ownership(home) is Owner.USER
        known = kind.__qualname__ if is_own else f"{kind.__module__}.{kind.__qualname__}"
        message = f"the input `{path}` is of type {known.removeprefix('builtins.')}, which no file can be given"
        self.problems.append(SpecProblem("unsupported-input", message, _cure(value), kind.__name__))
        return True


def _own_names(bound: Bound) -> list[str]:
    if not bound.variadic:
        return [bound.name]
    return [] if bound.positional else list(bound.value)


def _cure(value: Any) -> str:
    name = type(value).__name__
    if isinstance(value, numpy.ndarray):
        return "pass a tensor: torch.from_numpy(array)"
    if isinstance(value, list | tuple | dict):
        return "the container holds itself: pass one that ends"
    return (
        f"pass its tensors themselves, or register the class: make it a dataclass (then "
        f"torch.export.register_dataclass({name}) is not even needed), or call "
        f"torch.utils._pytree.register_pytree_node({name}, flatten, unflatten)"
    )


def _step(path: str, key: Any, parts: Parts) -> str:
    if parts.style is Style.FIELD:
        return f"{path}.{key}"
    return f"{path}[{json.dumps(key) if isinstance(key, str) else repr(key)}]"


def _clean(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_]", "_", name)
