"""Dimensions that "auto" offered and the model cannot vary: fixed again, so that the rest can."""

from __future__ import annotations

from onnxpert.core.types import Boundary, Loaded, Lowered, replace


def _sources(lowered: Lowered, boundary: Boundary) -> set[tuple[str, int]]:
    """The inputs and axes whose sizes a boundary is about."""
    return {
        source
        for symbol in lowered.symbols
        if symbol.name in boundary.sizes
        for source in symbol.sources
    }


def asked_for(loaded: Loaded, lowered: Lowered, boundary: Boundary) -> bool:
    """Whether the user named any of these dimensions, rather than being offered them."""
    sources = _sources(lowered, boundary)
    return any(
        spec.asked
        for leaf in loaded.leaves
        for axis, spec in leaf.dims
        if (leaf.name, axis) in sources
    )


def fixed(loaded: Loaded, lowered: Lowered, boundary: Boundary) -> Loaded:
    """The same model with those dimensions as the example has them."""
    sources = _sources(lowered, boundary)
    leaves = tuple(
        replace(
            leaf,
            dims=tuple((axis, spec) for axis, spec in leaf.dims if (leaf.name, axis) not in sources),
        )
        for leaf in loaded.leaves
    )
    return replace(loaded, leaves=leaves)  # type: ignore[no-any-return]
