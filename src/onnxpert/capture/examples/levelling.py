"""An example with a size of 1 that is longer elsewhere: `if len(y) == 1: y = y.repeat(len(x), 1)`.

A trace is shown a size of 2 there, as to torch no size that varies is 1, and on the side of the longer
ones that may be no size which the model takes. As long as what stands beside it, it is one."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.capture.examples.inputs import traced_example
from onnxpert.capture.examples.rehearsal import takes
from onnxpert.core.types import DimSpec, InputLeaf, Loaded, replace

_MOST = 4  # calls of the model


def levelled(loaded: Loaded) -> Loaded | None:
    """The model with such sizes shown at a length at which it runs; None where there are none, or what
    a trace makes of the example is taken."""
    if not any(_is_lone(leaf, axis, spec) for leaf in loaded.leaves for axis, spec in leaf.dims):
        return None
    if takes(_as_shown(loaded)):
        return None
    for size in list(dict.fromkeys(_others(loaded)))[:_MOST]:
        level = replace(loaded, leaves=tuple(_level(leaf, size) for leaf in loaded.leaves))
        if takes(_as_shown(level)):
            return level  # type: ignore[no-any-return]
    return None


def _is_lone(leaf: InputLeaf, axis: int, spec: DimSpec) -> bool:
    plain = (spec.scale, spec.offset, spec.upper) == (1, 0, None)
    return spec.asked and plain and leaf.scalar is None and leaf.value.shape[axis] == 1


def _others(loaded: Loaded) -> Iterator[int]:
    """Sizes that vary and are longer in the example."""
    for leaf in loaded.leaves:
        for axis, _ in leaf.dims if leaf.scalar is None else ():
            if leaf.value.shape[axis] > 1:
                yield leaf.value.shape[axis]


def _level(leaf: InputLeaf, size: int) -> InputLeaf:
    dims = tuple(
        (axis, replace(spec, shown=size) if _is_lone(leaf, axis, spec) else spec)
        for axis, spec in leaf.dims
    )
    return replace(leaf, dims=dims)  # type: ignore[no-any-return]


def _as_shown(loaded: Loaded) -> Loaded:
    leaves = tuple(
        replace(leaf, value=traced_example(leaf)) if leaf.dims and leaf.scalar is None else leaf
        for leaf in loaded.leaves
    )
    return replace(loaded, leaves=leaves)  # type: ignore[no-any-return]
