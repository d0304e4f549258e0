"""Example inputs made fit for tracing: a size of 0 or 1 would be taken for a constant."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from onnxpert.core.types import InputLeaf, Loaded, replace


def traced_example(leaf: InputLeaf) -> torch.Tensor:
    """The leaf's tensor, with every dynamic axis of size 0 or 1 widened to 2.

    torch takes sizes 0 and 1 for constants (broadcasting makes them special). Only shapes matter
    to a trace; the proof later runs on the user's own example."""
    tensor: torch.Tensor = leaf.value
    for axis, spec in leaf.dims:
        size = tensor.shape[axis]
        if size < 2 and (spec.upper is None or spec.upper >= 2):
            wanted = max(2, spec.lower or 2)
            if spec.scale != 1 or spec.offset:
                wanted = spec.scale * 2 + spec.offset
            shape = list(tensor.shape)
            shape[axis] = wanted
            tensor = tensor.expand(shape).clone() if size == 1 else tensor.new_zeros(shape)
    return tensor


def of_one_size(loaded: Loaded, places: Sequence[tuple[str, int]]) -> Loaded | None:
    """The model with an example in which sizes that met at a line are one; `places` are their inputs
    and axes. None where that is not for want of a size: of 1 in the example, which any other takes."""
    sizes = {
        (leaf.name, axis): leaf.value.shape[axis] for leaf in loaded.leaves for axis, _ in leaf.dims
    }
    met = {place: sizes[place] for place in places if place in sizes}
    others = {size for size in met.values() if size > 1}
    if len(others) != 1 or 1 not in met.values():
        return None
    (wanted,) = others
    roots = {
        spec.name
        for leaf in loaded.leaves
        for axis, spec in leaf.dims
        if met.get((leaf.name, axis)) == 1
    }

    def widened(leaf: InputLeaf) -> InputLeaf:
        mine = {axis for axis, spec in leaf.dims if spec.name in roots and spec.scale == 1}
        if not mine:
            return leaf
        shape = [wanted if axis in mine else size for axis, size in enumerate(leaf.value.shape)]
        return replace(leaf, value=leaf.value.new_zeros(shape))  # type: ignore[no-any-return]

    return replace(loaded, leaves=tuple(map(widened, loaded.leaves)))  # type: ignore[no-any-return]
