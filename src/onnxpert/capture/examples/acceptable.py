"""An example that the model takes, made of the one that it refuses: what is behind is looked at with it.

Nothing of it is exported, and nothing is offered: which example is meant only the user can say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

import torch

from onnxpert.capture.examples.rehearsal import takes
from onnxpert.capture.flat import owner
from onnxpert.core.types import Failure, InputLeaf, Loaded, replace

_FEW, _MOST = 4, 32  # of them are tried: each is a call of the model
_WEIGHTS = 1_000_000_000  # that may be gone through in all of them
_LARGEST = 1 << 24  # elements
# Images with the channels last are common; a batch that is missing, too.
_CHANNELS_FIRST = (0, 3, 1, 2)
_FLOATS_TAKEN_FOR = torch.int64  # indices, lengths, labels


def accepted(loaded: Loaded, refusal: Failure) -> Loaded | None:
    """None where nothing simple helps."""
    model = owner(loaded.module)
    weights = sum(one.numel() for one in model.parameters()) if model is not None else 0
    count = min(_MOST, max(_FEW, _WEIGHTS // (weights + 1)))
    for leaves in islice(_others(loaded.leaves, refusal.text), count):
        other: Loaded = replace(loaded, leaves=leaves)
        if takes(other):
            return other
    return None


def _others(leaves: tuple[InputLeaf, ...], said: str) -> Iterator[tuple[InputLeaf, ...]]:
    """One input changed at a time; what the model said of sizes is tried for each axis."""
    sizes = [size for size in dict.fromkeys(map(int, re.findall(r"\d+", said))) if size]
    for index, leaf in enumerate(leaves):
        if isinstance(leaf.value, torch.Tensor) and not leaf.value.is_quantized:
            for value in (*_looks(leaf), *_sized(leaf, sizes)):
                yield (*leaves[:index], replace(leaf, value=value), *leaves[index + 1 :])


def _looks(leaf: InputLeaf) -> Iterator[torch.Tensor]:
    """The same values in another dtype, in a range that fits small tables, with the axes otherwise."""
    value = leaf.value
    if value.is_floating_point():
        yield value.to(_FLOATS_TAKEN_FOR)
    elif not value.is_complex():
        yield value.to(torch.get_default_dtype())
        if value.dtype is not torch.bool:
            yield value.remainder(2)
    if not leaf.dims:  # by which its axes have names
        if value.dim() == len(_CHANNELS_FIRST):
            yield value.permute(_CHANNELS_FIRST).contiguous()
        yield value.unsqueeze(0)


def _sized(leaf: InputLeaf, sizes: list[int]) -> Iterator[torch.Tensor]:
    value, named = leaf.value, {axis for axis, _ in leaf.dims}
    for axis, size in ((axis, size) for size in sizes for axis in range(value.dim())):
        have = value.shape[axis]
        if axis not in named and have not in (0, size) and value.numel() // have * size <= _LARGEST:
            yield value.index_select(axis, torch.arange(size) % have)
