"""Example inputs made fit for tracing: a size of 0 or 1 would be taken for a constant."""

from __future__ import annotations

import torch

from onnxpert.core.types import InputLeaf


def traced_example(leaf: InputLeaf) -> torch.Tensor:
    """The leaf's tensor, with every dynamic axis of size 0 or 1 widened to 2.

    torch takes sizes 0 and 1 for constants (broadcasting makes them special). Only shapes matter
    to a trace; the proof later runs on the user's own example."""
    tensor: torch.Tensor = leaf.value
    for axis, spec in leaf.dims:
        size = tensor.shape[axis]
        if size < 2 and (spec.upper is None or spec.upper >= 2):
            wanted = spec.shown or max(2, spec.lower or 2)
            if spec.scale != 1 or spec.offset:
                wanted = spec.scale * 2 + spec.offset
            shape = list(tensor.shape)
            shape[axis] = wanted
            tensor = tensor.expand(shape).clone() if size == 1 else tensor.new_zeros(shape)
    return tensor
