"""A wish under a name that no input has: whom it may have meant, so that the rest can still be looked at.

The name itself is an error. Were nobody given the wish, those who were named rightly would seem to be
fixed by the one that was not."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from onnxpert.core.types import DimSpec, replace
from onnxpert.load.dims import read_dim
from onnxpert.load.inputs import Leaf

if TYPE_CHECKING:
    from onnxpert.load.dynamic import Wishes


def meant(wish: Any, leaves: Iterable[Leaf], wishes: Wishes) -> None:
    """Gives it to the tensors of which nothing was asked; where there are several, as an offer."""
    free = [leaf for leaf in leaves if leaf.is_tensor and leaf.name not in wishes.dims]
    fitting = [(leaf, dims) for leaf in free if (dims := _dims(wish, leaf, wishes))]
    for leaf, dims in fitting:
        for axis, spec in dims.items():
            wishes.dim(leaf, axis, replace(spec, asked=spec.asked and len(fitting) == 1))


def _dims(wish: Any, leaf: Leaf, wishes: Wishes) -> dict[int, DimSpec]:
    """The wish as it would be for this tensor; nothing where some of it cannot be meant."""
    if not isinstance(wish, (Mapping, list, tuple)):
        return {}
    shape = leaf.value.shape
    found: dict[int, DimSpec] = {}
    for axis, dim in wish.items() if isinstance(wish, Mapping) else enumerate(wish):
        if type(axis) is not int or not -len(shape) <= axis < len(shape):
            return {}
        size = int(shape[axis])
        spec = read_dim(dim, size)
        if spec is None:
            continue
        if not isinstance(spec, DimSpec) or not wishes.could_be(spec, size):
            return {}
        found[axis % len(shape)] = spec
    return found
