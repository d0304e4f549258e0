"""The one door to torch.utils._pytree: a registered container, one level apart and together again.

Tried on torch 2.13.0 and 2.15.0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from torch.utils import _pytree as pytree


def is_registered(value: Any) -> bool:
    return not pytree.tree_is_leaf(value)


def one_level(value: Any) -> tuple[list[tuple[Any, Any]], Callable[[Sequence[Any]], Any]]:
    """The children of a registered container with their keys, and how to put them back."""
    values, spec = pytree.tree_flatten(value, is_leaf=_below_the_top())
    try:
        keyed = pytree.tree_leaves_with_path(value, is_leaf=_below_the_top())
        children = [(path[0], child) for path, child in keyed]
    except ValueError:  # registered without keys
        children = [(pytree.SequenceKey(index), child) for index, child in enumerate(values)]
    return children, lambda values: pytree.tree_unflatten(list(values), spec)


def _below_the_top() -> Callable[[Any], bool]:
    """True from the second node on: by order, not identity, for a container may hold itself."""
    seen: list[Any] = []

    def below(_: Any) -> bool:
        seen.append(None)
        return len(seen) > 1

    return below


def key_of(key: Any) -> Any:
    """What a key holds: an index, a dictionary's key or an attribute's name."""
    if isinstance(key, pytree.SequenceKey):
        return key.idx
    if isinstance(key, pytree.MappingKey):
        return key.key
    if isinstance(key, pytree.GetAttrKey):
        return key.name
    return str(key)


def is_attribute(key: Any) -> bool:
    return isinstance(key, pytree.GetAttrKey)


def call_structure(in_spec: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The (args, kwargs) that a program's input spec describes, leaves numbered."""
    args, kwargs = pytree.tree_unflatten(list(range(in_spec.num_leaves)), in_spec)
    return args, kwargs
