"""Layers of a cache that keep a window of the tokens they saw, and count all of them in a Python number.

A file takes tensors only. The number follows from another size: that of a layer which keeps every
token, or of the mask that reaches over the past and this call's tokens. Written for the cache classes
of transformers 5."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from onnxpert.core.caches import is_cache
from onnxpert.core.types import DimSpec, SpecProblem, Window
from onnxpert.load.inputs import Inputs, Leaf

_TOKENS = ("input_ids", "inputs_embeds", "decoder_input_ids", "decoder_inputs_embeds")
_MASKS = ("attention_mask", "decoder_attention_mask")
_LENGTH = 2  # the axis of a layer's keys and values that grows

Rebuild = Callable[[Sequence[Any]], tuple[tuple[Any, ...], dict[str, Any]]]


def windowed(inputs: Inputs) -> tuple[tuple[Window, ...], Rebuild]:
    """The sizes that are windows, where something else says how much they have seen; and the call
    again, its caches with the number that goes with the sizes."""
    by_tensor = {id(leaf.value): leaf for leaf in inputs.leaves}
    found: dict[tuple[int, int], list[Window]] = {}
    for number, cache in enumerate(_caches(_given(inputs))):
        whole = _everything(cache.layers, by_tensor)
        for index, layer in enumerate(cache.layers):
            if not _is_windowed(layer):
                continue
            counted = whole or _mask(inputs, layer.cumulative_length)
            leaves = [by_tensor.get(id(tensor)) for tensor in (layer.keys, layer.values)]
            if counted is not None and all(leaves):
                most = layer.sliding_window - 1
                found[number, index] = [
                    Window(leaf.name, _LENGTH, most, *counted) for leaf in leaves if leaf
                ]
    windows = tuple(window for both in found.values() for window in both)
    return windows, _counting(inputs, found) if found else inputs.rebuild


def uncounted(
    inputs: Inputs, windows: Sequence[Window], dims: Mapping[str, Mapping[int, DimSpec]]
) -> Iterator[SpecProblem]:
    """The caches whose number of tokens a file would keep for ever, one problem for each."""
    by_tensor = {id(leaf.value): leaf for leaf in inputs.leaves}
    counted = {window.leaf for window in windows}
    for cache in _caches(_given(inputs)):
        for layer in cache.layers:
            leaf = by_tensor.get(id(getattr(layer, "keys", None)))
            if leaf is None or leaf.name in counted:
                continue
            static = type(getattr(layer, "cumulative_length_int", None)) is int
            full = _is_windowed(layer) and layer.keys.shape[_LENGTH] == layer.sliding_window - 1
            if static or full or (_is_windowed(layer) and _LENGTH in dims.get(leaf.name, {})):
                yield _problem(layer, leaf, "DynamicCache" if static else "")
                break


def _problem(layer: Any, leaf: Leaf, other: str) -> SpecProblem:
    name = "cumulative_length_int" if other else "cumulative_length"
    seen = f"{getattr(layer, name)} here, and another number in the next call"
    message = f"`{leaf.path.rpartition('.')[0]}` counts its tokens in a number of Python's: {seen}"
    mask = "an attention_mask as long as the past and the new tokens, from which the count follows"
    return SpecProblem(
        "unsupported-input", message, f"pass {f'a {other} and ' * bool(other)}{mask}"
    )


def _counting(inputs: Inputs, found: Mapping[tuple[int, int], Sequence[Window]]) -> Rebuild:
    names = [leaf.name for leaf in inputs.leaves]

    def rebuild(values: Sequence[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = inputs.rebuild(values)
        given = dict(zip(names, values, strict=True))
        caches = list(_caches((*args, *kwargs.values())))
        for (number, index), (window, *_) in found.items():
            _count(caches[number].layers[index], _seen(window, given))
        return args, kwargs

    return rebuild


def _given(inputs: Inputs) -> list[Any]:
    """The values of the call in the order of its parameters."""
    values: list[Any] = []
    for entry in inputs.entries:
        value = entry.bound.value
        if not entry.bound.variadic:
            values.append(value)
        else:
            values += value if entry.bound.positional else value.values()
    return values


def _seen(window: Window, given: Mapping[str, Any]) -> Any:
    leaf, axis = window.seen
    seen = given[leaf].shape[axis]
    if window.new is not None:
        leaf, axis = window.new
        seen -= given[leaf].shape[axis]
    return seen


def _count(layer: Any, seen: Any) -> None:
    layer.cumulative_length = seen
    if isinstance(seen, torch.SymInt):
        # It asks whether the window is full, where both answers come to the same.
        layer.get_mask_sizes = lambda queries: (
            layer.keys.shape[-2] + queries,
            seen - layer.keys.shape[-2],
        )


def _caches(values: Sequence[Any]) -> Iterator[Any]:
    for value in values:
        own = getattr(value, "self_attention_cache", value)
        if is_cache(own) and isinstance(getattr(own, "layers", None), list):
            yield own


def _is_windowed(layer: Any) -> bool:
    counted = type(getattr(layer, "cumulative_length", None)) is int
    return counted and _is_filled(layer) and type(getattr(layer, "sliding_window", None)) is int


def _is_filled(layer: Any) -> bool:
    keys = getattr(layer, "keys", None)
    return isinstance(keys, torch.Tensor) and keys.dim() == 4


def _everything(
    layers: Sequence[Any], by_tensor: Mapping[int, Leaf]
) -> tuple[tuple[str, int], None] | None:
    """The keys of a layer that keeps every token."""
    for layer in layers:
        if _is_filled(layer) and not hasattr(layer, "cumulative_length"):
            leaf = by_tensor.get(id(layer.keys))
            if leaf is not None:
                return (leaf.name, _LENGTH), None
    return None


def _mask(inputs: Inputs, count: int) -> tuple[tuple[str, int], tuple[str, int]] | None:
    """The mask and the tokens whose sizes differ by what the cache has seen."""
    leaves = {leaf.path: leaf for leaf in inputs.leaves if leaf.is_tensor and leaf.value.dim() > 1}
    masks = [leaves[path] for path in _MASKS if path in leaves and leaves[path].value.dim() == 2]
    tokens = [leaves[path] for path in _TOKENS if path in leaves]
    for mask in masks:
        for new in tokens:
            if mask.value.shape[1] - new.value.shape[1] == count:
                return (mask.name, 1), (new.name, 1)
    return None
