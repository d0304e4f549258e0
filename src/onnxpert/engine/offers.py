"""What a model allows its dynamic dimensions: those it cannot vary, and those it varies in a range."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Boundary, Bounded, Loaded, Lowered, replace


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


def bounds(lowered: Lowered) -> Iterator[Bounded]:
    """The sizes that have an end, each with the line that set it."""
    for symbol in lowered.symbols:
        if symbol.lower > 1 or symbol.upper is not None:
            places = [b.guard.location for b in lowered.boundaries if symbol.name in b.sizes]
            yield Bounded(symbol, next((place for place in places if place is not None), None))
