"""An example with an empty cache: the mask beside it is as long as the cache and the new tokens together.

A trace needs sizes of 2 at least, and a cache of 2 does not go with a mask that was made for none. The
sizes that go with it are found by calls of the model."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeAlias

import torch

from onnxpert.capture.examples.inputs import traced_example
from onnxpert.capture.examples.rehearsal import takes
from onnxpert.core.types import InputLeaf, Loaded, replace

_Size: TypeAlias = str | tuple[str, int]  # its name, or of which axis of which input it is
_MOST = 16  # calls of the model


def grown(loaded: Loaded) -> Loaded | None:
    """The model with the nearest larger example that it takes; None where what a trace makes of the
    example is taken, or nothing is."""
    wide = replace(loaded, leaves=tuple(map(_widened, loaded.leaves)))
    added = {
        after.value.shape[axis] - before.value.shape[axis]
        for before, after in zip(loaded.leaves, wide.leaves, strict=True)
        for axis, _ in before.dims
    } - {0}
    if not added or takes(wide):
        return None
    others = dict.fromkeys(size for leaf in loaded.leaves for size, _ in _others(leaf))
    tries = itertools.product(others, sorted(added))
    for size, more in itertools.islice(tries, _MOST):
        larger = replace(wide, leaves=tuple(_longer(leaf, size, more) for leaf in wide.leaves))
        if takes(larger):
            return larger  # type: ignore[no-any-return]
    return None


def _widened(leaf: InputLeaf) -> InputLeaf:
    return replace(leaf, value=traced_example(leaf)) if leaf.dims else leaf


def _others(leaf: InputLeaf) -> Iterator[tuple[_Size, int]]:
    """The sizes that a trace takes as they are, and their axes."""
    for axis, spec in leaf.dims:
        if leaf.value.shape[axis] > 1 and (spec.scale, spec.offset) == (1, 0):
            yield spec.name or (leaf.name, axis), axis


def _longer(leaf: InputLeaf, size: _Size, more: int) -> InputLeaf:
    """With as many of its last elements again along each axis of that size."""
    value = leaf.value
    for own, axis in _others(leaf):
        if own == size:
            last = value.narrow(axis, value.shape[axis] - 1, 1)
            value = torch.cat([value, *[last] * more], axis)
    return leaf if value is leaf.value else replace(leaf, value=value)
