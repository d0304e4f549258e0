"""The ways in which people write the dynamic shapes of a key/value cache."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from onnxpert.load.inputs import Branch, Leaf, leaves_of


def cache_wishes(wish: Any, node: Branch) -> list[tuple[Leaf, Any]] | None:
    """What is wished for each tensor of a cache, None if it is not written in one of these ways:

    `{0: "batch", 2: "past"}` for all of them; one per tensor, key and value in turn; a pair per
    layer; or all the keys and then all the values, as torch flattens a cache."""
    # A layer may hold numbers too, such as the length of its window.
    tensors = [leaf for leaf in leaves_of(node) if leaf.is_tensor and leaf.value.dim() > 1]
    if not node.kind.endswith("Cache") or not tensors or not wish:
        return None
    wanted = _in_turn(wish, len(tensors))
    return None if wanted is None else list(zip(tensors, wanted, strict=True))


def _in_turn(wish: Any, count: int) -> list[Any] | None:
    if isinstance(wish, Mapping):
        return [wish] * count if all(isinstance(key, int) for key in wish) else None
    if not isinstance(wish, list | tuple):
        return None
    if not all(isinstance(inner, list | tuple) for inner in wish):
        return list(wish) if len(wish) == count > 1 else None
    if sum(map(len, wish)) != count:
        return None
    if len(wish) == 2:
        # With two layers a pair of pairs may be read either way, and comes to the same for sizes.
        keys, values = wish
        return [one for both in zip(keys, values, strict=False) for one in both]
    return [one for pair in wish for one in pair] if all(len(pair) == 2 for pair in wish) else None
