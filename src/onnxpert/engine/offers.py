"""What a model allows its dynamic dimensions: those it cannot vary, and those it varies in a range."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import (
    Boundary,
    Bounded,
    Loaded,
    Lowered,
    Symbol,
    Tied,
    Verdict,
    Verified,
    replace,
)


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
            dims=tuple(
                (axis, spec) for axis, spec in leaf.dims if (leaf.name, axis) not in sources
            ),
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


def tie(loaded: Loaded, lowered: Lowered, verified: Verified) -> Tied | None:
    """Two unnamed sizes, equal in the example, where changing one without the other fails."""
    symbols = {symbol.name: symbol for symbol in lowered.symbols if _unnamed(loaded, symbol)}
    order = [symbol.name for symbol in lowered.symbols]
    for row in verified.rows:
        if row.verdict is not Verdict.FAIL:
            continue
        for name, symbol in symbols.items():
            for other in symbols.values():
                equal = other is not symbol and _alike(symbol, other)
                if equal and row.sizes.get(name) != row.sizes.get(other.name):
                    first, second = sorted((symbol, other), key=lambda s: order.index(s.name))
                    return Tied(first, second, row)
    return None


def _unnamed(loaded: Loaded, symbol: Symbol) -> bool:
    leaves = {leaf.name: dict(leaf.dims) for leaf in loaded.leaves}
    specs = [leaves[name].get(axis) for name, axis in symbol.sources]
    return all(spec is not None and not spec.name for spec in specs)


def _alike(first: Symbol, second: Symbol) -> bool:
    """The same size on the same axis: what a batch, or a sequence and its mask, look like."""
    axes = {axis for _, axis in first.sources} & {axis for _, axis in second.sources}
    return bool(axes) and first.example == second.example


def tied(loaded: Loaded, found: Tied) -> Loaded:
    """The same model with one name for both sizes."""
    sources = {*found.first.sources, *found.second.sources}
    leaves = tuple(
        replace(
            leaf,
            dims=tuple(
                (
                    axis,
                    replace(spec, name=found.first.name) if (leaf.name, axis) in sources else spec,
                )
                for axis, spec in leaf.dims
            ),
        )
        for leaf in loaded.leaves
    )
    return replace(loaded, leaves=leaves)  # type: ignore[no-any-return]
