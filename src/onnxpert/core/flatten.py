"""The outputs of a model as a flat list: capture and proof must agree on what comes in which place."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from onnxpert.core.caches import cache_name, is_cache
from onnxpert.core.types import Tree

if TYPE_CHECKING:
    import torch

Number = bool | int | float | complex


@dataclasses.dataclass(frozen=True, slots=True)
class WithState:
    """What a model returned, and after it what it remembers, each under a name of its own."""

    outputs: Tree
    states: Mapping[str, Any]


def flatten_outputs(tree: Tree) -> list[tuple[str, Any]]:
    """Every tensor and number in what a model returned, with the path that leads to it.

    A bare tensor has the path "", the items of a tuple "0" and "1", those of a nested structure
    `hidden_0`. Dictionaries keep their order, dataclasses that of their fields. None has no place
    in a file and is left out, as is anything that is neither a container nor a value (a string).
    Of an object of a class unknown to us, only what holds tensors counts: its numbers are
    settings, not results."""
    if isinstance(tree, WithState):
        return [*flatten_outputs(tree.outputs), *tree.states.items()]
    return [("_".join(path), leaf) for path, leaf in _walk(tree, (), frozenset())]


def dropped_outputs(tree: Tree) -> list[tuple[str, str]]:
    """What a model returned that is no tensor, number or None: its path, and the name of its class."""
    return [("_".join(path), type(leaf).__name__) for path, leaf in _dropped(tree, ())]


def _dropped(tree: Tree, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    if tree is None or is_tensor(tree) or is_number(tree):
        return
    children = _children(tree)
    for key, child in children or ():
        yield from _dropped(child, (*path, str(key)))
    if children is None and not flatten_outputs(tree):
        yield path, tree


def is_number(leaf: Any) -> TypeGuard[Number]:
    """A Python number, or the symbol that stands for one while torch is tracing."""
    import torch

    return isinstance(leaf, Number | torch.SymInt | torch.SymFloat | torch.SymBool)


def is_tensor(leaf: Any) -> TypeGuard[torch.Tensor]:
    import torch

    return isinstance(leaf, torch.Tensor)


def _walk(
    tree: Tree,
    path: tuple[str, ...],
    above: frozenset[int],
    *,
    numbers: bool = True,
    cached: bool = False,
) -> Iterator[tuple[tuple[str, ...], Any]]:
    if is_tensor(tree) or (numbers and is_number(tree)):
        yield path, tree
    elif not cached and type(tree) not in (list, tuple, dict) and is_cache(tree):
        # One cache may hold two, of the decoder's and of the encoder's: its names are the outer's.
        for inner_path, leaf in _parts(tree, (), above, numbers=numbers, cached=True):
            yield (f"present.{cache_name(inner_path)}",), leaf
    else:
        yield from _parts(tree, path, above, numbers=numbers, cached=cached)


def _parts(
    tree: Tree, path: tuple[str, ...], above: frozenset[int], *, numbers: bool, cached: bool
) -> Iterator[tuple[tuple[str, ...], Any]]:
    if id(tree) not in above:  # an object may hold itself
        children = _children(tree)
        inner = numbers if children is not None else False
        for key, child in _attributes(tree) if children is None else children:
            yield from _walk(
                child, (*path, str(key)), above | {id(tree)}, numbers=inner, cached=cached
            )


def _children(tree: Tree) -> list[tuple[Any, Any]] | None:
    """The items of a container of a kind we know, None for any other object."""
    plain = type(tree) in (list, tuple, dict)
    registered = None if plain else _registered(tree)
    if registered is not None:
        return registered
    if isinstance(tree, Mapping):
        return list(tree.items())
    if isinstance(tree, list | tuple):
        return list(enumerate(tree))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        return [(field.name, getattr(tree, field.name)) for field in dataclasses.fields(tree)]
    return None


def _registered(tree: Tree) -> list[tuple[Any, Any]] | None:
    """The children of a container that torch knows how to flatten, one level deep."""
    # The names used here are the same in torch 2.13 and 2.15; there is no public module of them.
    from torch.utils import _pytree as pytree

    if pytree.tree_is_leaf(tree):
        return None
    try:
        keyed, _ = pytree.tree_flatten_with_path(tree, is_leaf=lambda node: node is not tree)
    except ValueError:  # registered without names for its children
        children, _ = pytree.tree_flatten(tree, is_leaf=lambda node: node is not tree)
        return list(enumerate(children))
    return [(_key(path[0]), child) for path, child in keyed]


def _key(entry: Any) -> Any:
    for attribute in ("idx", "key", "name"):  # of SequenceKey, MappingKey, GetAttrKey
        if hasattr(entry, attribute):
            return getattr(entry, attribute)
    return entry


def _attributes(tree: Tree) -> list[tuple[Any, Any]]:
    import torch

    if isinstance(tree, torch.nn.Module | type):
        return []
    return [item for item in getattr(tree, "__dict__", {}).items() if not item[0].startswith("_")]
