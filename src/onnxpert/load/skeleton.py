"""What the inputs look like, and the dynamic_shapes one would write for them."""

from __future__ import annotations

import json
from typing import Any

import torch

from onnxpert.load.inputs import Branch, Inputs, Leaf, leaves_of


def structure(inputs: Inputs) -> str:
    """The inputs in a line: `x: float32[2, 3], xs: [float32[2], int]`."""
    return ", ".join(f"{entry.bound.name}: {_seen(entry.node)}" for entry in inputs.entries)


def _seen(node: Leaf | Branch) -> str:
    if isinstance(node, Branch):
        inner = [_seen(child) for child in node.children]
        if _is_list(node):
            return f"[{', '.join(inner)}]"
        pairs = zip(node.keys, inner, strict=True)
        return "{" + ", ".join(f"{_key(key)}: {text}" for key, text in pairs) + "}"
    if isinstance(node.value, torch.Tensor):
        dtype = str(node.value.dtype).removeprefix("torch.")
        return f"{dtype}{list(node.value.shape)}"
    return "None" if node.value is None else type(node.value).__name__


def skeleton(inputs: Inputs) -> str:
    """A dynamic_shapes that fits these inputs, every axis of every tensor named."""
    first = next((leaf for leaf in inputs.leaves if leaf.is_tensor and leaf.value.dim()), None)
    batch = None if first is None else int(first.value.shape[0])
    entries = (f'"{e.bound.name}": {_wished(e.node, batch)}' for e in inputs.entries)
    return "dynamic_shapes={" + ", ".join(entries) + "}"


def _wished(node: Leaf | Branch, batch: int | None) -> str:
    if isinstance(node, Branch):
        inner = [_wished(child, batch) for child in node.children]
        if _is_list(node):
            return f"[{', '.join(inner)}]"
        return (
            "{" + ", ".join(f"{_key(k)}: {t}" for k, t in zip(node.keys, inner, strict=True)) + "}"
        )
    if not isinstance(node.value, torch.Tensor):
        return "None"
    axes = (f'{axis}: "{_axis_name(node, axis, batch)}"' for axis in range(node.value.dim()))
    return "{" + ", ".join(axes) + "}"


def _axis_name(leaf: Leaf, axis: int, batch: int | None) -> str:
    shared = axis == 0 and leaf.value.shape[0] == batch
    return "batch" if shared else f"{leaf.name}_dim_{axis}"


def _is_list(node: Branch) -> bool:
    return node.keys == tuple(range(len(node.keys)))


def _key(key: Any) -> str:
    return json.dumps(key) if isinstance(key, str) else repr(key)


def names(inputs: Inputs) -> list[str]:
    """Every name an input can be called by: parameters first, then the leaves inside them."""
    known = [entry.bound.name for entry in inputs.entries]
    known += [leaf.name for entry in inputs.entries for leaf in leaves_of(entry.node)]
    return list(dict.fromkeys(known))
