"""How far a model lets its sizes go: each by itself, and those that it ties to each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from onnxpert.core.size_conditions import holding
from onnxpert.core.types import (
    Boundary,
    Bounded,
    Loaded,
    Lowered,
    Related,
    Row,
    Symbol,
    Verdict,
    Verified,
    replace,
)
from onnxpert.engine.free_sizes.offers import bounds, specs_of, taken_beyond
from onnxpert.lower.boundaries import broken

_MOST_SIZES = 4  # in one relation: all of them are tried together
_NEAR = 12  # sizes from the example's, and from twice the example's, on
_MOST_TRIED = 64  # the largest size in an equation of which all others are tried


def limits(
    loaded: Loaded, lowered: Lowered, verified: Verified | None = None
) -> Iterator[Related | Bounded]:
    """What the model says about its sizes, each size told of once."""
    rows = verified.rows if verified is not None else ()
    related = list(_relations(loaded, lowered, rows))
    yield from related
    told = {name for one in related for name in one.names}
    told |= _frozen_elsewhere(loaded, lowered)
    fixed = [one for one in _fixed(loaded, lowered, rows) if one.symbol.name not in told]
    yield from fixed
    told |= {one.symbol.name for one in fixed}
    beyond = taken_beyond(loaded, lowered, verified) if verified is not None else frozenset()
    yield from (one for one in bounds(loaded, lowered, beyond) if one.symbol.name not in told)


def _frozen_elsewhere(loaded: Loaded, lowered: Lowered) -> set[str]:
    """The sizes that some input of the file has as a number, which is an error of its own."""
    return {
        symbol.name
        for symbol in lowered.symbols
        for leaf in loaded.leaves
        for axis, spec in leaf.dims
        if spec.name == symbol.name and (leaf.name, axis) not in symbol.sources
    }


def _relations(loaded: Loaded, lowered: Lowered, rows: Sequence[Row]) -> Iterator[Related]:
    """Each equation between sizes that leaves some of them no room: `h * w == 196`. What a proof was
    seen to go beyond is none."""
    passed = [row.sizes for row in rows if row.verdict is Verdict.PASS]
    examples = {symbol.name: symbol for symbol in lowered.symbols}
    said = {boundary.guard: boundary for boundary in lowered.boundaries}.values()
    for boundary in said:
        names = boundary.guard.symbols
        if not 1 < len(names) <= _MOST_SIZES or not isinstance(boundary.condition, sympy.Eq):
            continue
        sizes = [examples[name] for name in names if name in examples]
        stuck = [size for size in _stuck(boundary, sizes) if _asked(loaded, size)]
        # A size of 1 is taken by much that was not made for it.
        beyond = [at for at in passed if broken(boundary, at) and 1 not in map(at.get, names)]
        if len(stuck) > 1 and not beyond:
            yield Related(
                tuple(size.name for size in stuck),
                boundary.guard.expr,
                boundary.guard.location,
                refused=any(
                    broken(boundary, row.sizes) for row in rows if row.verdict is Verdict.REFUSED
                ),
            )


def _fixed(loaded: Loaded, lowered: Lowered, rows: Sequence[Row]) -> Iterator[Bounded]:
    """Each size that an equation leaves as it is in the example, whatever the others are: `h` of
    `h * w == 64 * (w // 4)`."""
    varied = [row.sizes for row in rows if row.verdict is Verdict.PASS]
    examples = {symbol.name: symbol for symbol in lowered.symbols}
    said = {boundary.guard: boundary for boundary in lowered.boundaries}.values()
    found: dict[str, Bounded] = {}
    for boundary in said:
        sizes = [examples[name] for name in boundary.guard.symbols if name in examples]
        if not 1 < len(sizes) <= _MOST_SIZES - 1 or not isinstance(boundary.condition, sympy.Eq):
            continue
        for size in sizes:
            moved = any(at.get(size.name, size.example) != size.example for at in varied)
            if _asked(loaded, size) and not moved and not _can_move(boundary, size, sizes):
                only = replace(size, lower=size.example, upper=size.example)
                found.setdefault(size.name, Bounded(only, boundary.guard.location))
    yield from found.values()


def _can_move(boundary: Boundary, size: Symbol, sizes: Sequence[Symbol]) -> bool:
    """Whether the equation holds for another size, with the others near the example's or not."""
    if max(each.example for each in sizes) > _MOST_TRIED:
        return True
    near = {each.name: np.arange(1, 2 * each.example + _NEAR) for each in sizes}
    near[size.name] = near[size.name][near[size.name] != size.example]
    return _holds_somewhere(boundary.condition, near)


def _asked(loaded: Loaded, symbol: Symbol) -> bool:
    return any(spec.asked for spec in specs_of(loaded, symbol.sources))


def _stuck(boundary: Boundary, sizes: Sequence[Symbol]) -> list[Symbol]:
    """Those that cannot be twice as large with all others no smaller than they are."""
    return [size for size in sizes if not _can_double(boundary.condition, size, sizes)]


def _can_double(condition: Any, size: Symbol, sizes: Sequence[Symbol]) -> bool:
    tried: Mapping[str, Any] = {
        other.name: np.concatenate(
            [
                np.arange(2 * other.example, 2 * other.example + _NEAR),
                np.arange(other.example, other.example + _NEAR) if other is not size else [],
            ]
        ).astype(int)
        for other in sizes
    }
    return _holds_somewhere(condition, tried)


def _holds_somewhere(condition: Any, tried: Mapping[str, Any]) -> bool:
    grid = dict(zip(tried, np.meshgrid(*tried.values(), indexing="ij"), strict=True))
    return bool(holding(condition, {sympy.Symbol(name): n for name, n in grid.items()}).any())
