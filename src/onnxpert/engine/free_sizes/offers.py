"""What a model allows its dynamic dimensions: those it cannot vary, and those it varies in a range."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import sympy

from onnxpert.core.size_conditions import holding
from onnxpert.core.source import is_library
from onnxpert.core.types import (
    Boundary,
    Bounded,
    Captured,
    Crossed,
    DimSpec,
    Loaded,
    Location,
    Lowered,
    Row,
    Symbol,
    Tied,
    Verdict,
    Verified,
    replace,
)
from onnxpert.engine.free_sizes.withdrawals import respecified
from onnxpert.lower.boundaries import broken

_NUMBER = re.compile(r"_\d+$")  # behind a name that another size has
_NOT_SMALL = re.compile(r"Ne\(.*, [01]\)")
_COMPARED = (Verdict.PASS, Verdict.FAIL)
_MOST_LIKELY = 64  # beyond a few times the example's size
_MOST_TOGETHER = 24  # of each of several sizes
_MOST_DOUBTED = 4  # each of them may double the graph


def _sources(lowered: Lowered, boundary: Boundary) -> set[tuple[str, int]]:
    """The inputs and axes whose sizes a boundary is about."""
    return {
        source
        for symbol in lowered.symbols
        if symbol.name in boundary.guard.symbols
        for source in symbol.sources
    }


def specs_of(loaded: Loaded, sources: Collection[tuple[str, int]]) -> list[DimSpec]:
    """What was said of these axes."""
    return [
        spec for leaf in loaded.leaves for axis, spec in leaf.dims if (leaf.name, axis) in sources
    ]


def crossings(lowered: Lowered, verified: Verified) -> Iterator[Crossed]:
    """For each failure the assumption that it is beyond of: of several, one that no size beyond of
    which passed, and the first: up to there the model does what it did.

    What does not hold at the example either belongs to another side of a branch, unless it is that
    a size is not 1: a trace never sees that one. Where a model's roundings decide at sizes that break
    no assumption, they do so beyond too, and a failure there tells nothing."""
    example = verified.rows[0].sizes if verified.rows else {}
    held = [
        boundary
        for boundary in lowered.boundaries
        if _NOT_SMALL.fullmatch(boundary.assumed) or not broken(boundary, example)
    ]
    passed = [row.sizes for row in verified.rows if row.verdict is Verdict.PASS]

    def unlikelihood(boundary: Boundary) -> tuple[bool, bool, int]:
        # torch itself asks whether sizes are not 0 or 1; a model compares them.
        harmless = any(broken(boundary, sizes) for sizes in passed)
        order = lowered.boundaries.index(boundary)
        return harmless, bool(_NOT_SMALL.fullmatch(boundary.assumed)), order

    for row in verified.rows:
        if row.verdict is Verdict.FAIL:
            beyond = [boundary for boundary in held if broken(boundary, row.sizes)]
            if beyond:
                first = min(beyond, key=unlikelihood)
                yield Crossed(first, row, first.guard.expr)
            elif verified.sway is not None and not row.choices:
                return


def asked_for(loaded: Loaded, lowered: Lowered, boundary: Boundary) -> bool:
    """Whether the user named any of these dimensions, rather than being offered them."""
    return any(spec.asked for spec in specs_of(loaded, _sources(lowered, boundary)))


def is_own(boundary: Boundary) -> bool:
    """Whether it was the user's own line; of a library there may be much to write down."""
    at = boundary.guard.location
    return at is not None and at.file != "" and not is_library(at.file)


def is_but_one(loaded: Loaded, lowered: Lowered, boundary: Boundary) -> bool:
    """Whether a size of 1 is all that is beyond it, and was not meant: what torch calls DYNAMIC is at
    least 2, while who names a dimension means every size."""
    specs = specs_of(loaded, _sources(lowered, boundary))
    meant = any(spec.name or spec.lower is not None for spec in specs)
    is_one = boundary.assumed.startswith("Ne(") and _range(lowered, boundary) == (2, None)
    return is_one and not meant


def doubted(
    captured: object, loaded: Loaded, lowered: Lowered, crossed: Sequence[Crossed]
) -> frozenset[str]:
    """Assumptions that do not hold at sizes the user wants, or that the user's own lines make however
    they are read: to be asked about in another capture."""
    if not isinstance(captured, Captured) or loaded.thorough:
        return frozenset()
    wanted = [
        one.boundary.assumed
        for one in crossed
        if captured.left_open
        or (loaded.as_written and is_own(one.boundary))
        or asked_for(loaded, lowered, one.boundary)
    ]
    fresh = frozenset(wanted) - loaded.doubted - {""}
    return fresh if len(loaded.doubted | fresh) <= _MOST_DOUBTED else frozenset()


def left_open_beyond(
    captured: object, loaded: Loaded, lowered: Lowered, verified: Verified
) -> frozenset[str]:
    """Assumptions about what a library asked, beyond which the model was seen to go on: that the file is
    right there too may be the doing of those values."""
    if not isinstance(captured, Captured) or not captured.left_open:
        return frozenset()
    names = taken_beyond(loaded, lowered, verified)
    beyond = [
        Crossed(boundary, row, boundary.guard.expr)
        for row in verified.rows
        if row.verdict in _COMPARED
        for boundary in _broken_at(lowered, row.sizes)
        if not names.isdisjoint(boundary.guard.symbols)
    ]
    return doubted(captured, loaded, lowered, beyond)


def is_doubtful(
    captured: object, loaded: Loaded, lowered: Lowered, sizes: Mapping[str, int]
) -> bool:
    """Whether a failure at these sizes would have an assumption doubted, whatever explains it."""
    beyond = [
        Crossed(boundary, Row("", "", sizes, Verdict.FAIL), boundary.guard.expr)
        for boundary in _broken_at(lowered, sizes)
    ]
    return bool(doubted(captured, loaded, lowered, beyond))


def _broken_at(lowered: Lowered, sizes: Mapping[str, int]) -> list[Boundary]:
    """What is assumed and does not hold at these sizes, but at the example's."""
    example = {symbol.name: symbol.example for symbol in lowered.symbols}
    return [
        boundary
        for boundary in lowered.boundaries
        if broken(boundary, sizes) and not broken(boundary, example)
    ]


def narrowed(loaded: Loaded, lowered: Lowered, boundary: Boundary) -> Loaded:
    """The same model with those dimensions in the range that the boundary leaves, or as they are."""
    sources = _sources(lowered, boundary)
    low, high = _range(lowered, boundary)

    def change(spec: DimSpec) -> DimSpec | None:
        if low is None:
            return None
        lower, upper = max(spec.lower or 0, low), high if spec.upper is None else spec.upper
        fresh = replace(spec, lower=lower, upper=upper)
        return None if fresh == spec else fresh  # it was narrowed before, and that did not help

    return respecified(loaded, sources, change)


def _range(lowered: Lowered, boundary: Boundary) -> tuple[int | None, int | None]:
    """The sizes around the example's at which an assumption holds; None where they are no range."""
    symbols = [symbol for symbol in lowered.symbols if symbol.name in boundary.guard.symbols]
    if len(symbols) != 1 or len(boundary.guard.symbols) != 1:
        return None, None
    (symbol,) = symbols
    last = 4 * symbol.example + max(boundary.sizes.values(), default=0) + 64
    held = [n for n in range(1, last) if not broken(boundary, {symbol.name: n})]
    if len(held) < 2 or held[-1] - held[0] + 1 != len(held) or symbol.example not in held:
        return None, None
    if held[0] > symbol.example // 2 and held[-1] < 2 * symbol.example:
        return None, None  # next to nothing: a runtime asks for a fixed size, not for a range
    return held[0], held[-1] if held[-1] < last - 1 else None


def bounds(
    loaded: Loaded, lowered: Lowered, beyond: frozenset[str] = frozenset()
) -> Iterator[Bounded]:
    """The sizes to which the model sets an end, each with the line that does.

    `beyond`: those to which only the file does."""
    for symbol in lowered.symbols:
        asked = specs_of(loaded, symbol.sources)
        lower = 1 if any(spec.lower == symbol.lower for spec in asked) else symbol.lower
        upper = None if any(spec.upper == symbol.upper for spec in asked) else symbol.upper
        if lower > 1 or upper is not None:
            place = next(filter(None, _ending(lowered, symbol)), None)
            bounded = replace(symbol, lower=lower, upper=upper)
            more = symbol.name in beyond
            offered = more and not any(spec.asked for spec in asked)
            yield Bounded(bounded, place, offered=offered, narrow=more and not offered)
        elif any(not spec.asked and (spec.lower or spec.upper) for spec in asked):
            yield Bounded(symbol, None, offered=True)


def _ending(lowered: Lowered, symbol: Symbol) -> Iterator[Location | None]:
    """The lines that may set its ends, first those of what no longer holds just beyond them."""
    asking = [one for one in lowered.boundaries if symbol.name in one.guard.symbols]
    sizes = {each.name: each.example for each in lowered.symbols}
    next_to = [symbol.lower - 1, *([] if symbol.upper is None else [symbol.upper + 1])]

    def ends(one: Boundary) -> bool:
        return any(broken(one, {**sizes, symbol.name: size}) for size in next_to if size > 0)

    yield from (one.guard.location for one in asking if ends(one))
    yield symbol.bounded_at
    yield from (one.guard.location for one in asking)


def taken_beyond(loaded: Loaded, lowered: Lowered, verified: Verified) -> frozenset[str]:
    """The sizes that the model was seen to take beyond what the file allows; of those that were only
    offered, beyond the largest.

    A size of 1 is no such thing unless there are branches: much takes it that was not made for it."""
    found = set()
    for symbol in lowered.symbols:
        asked = any(spec.asked for spec in specs_of(loaded, symbol.sources))
        least = symbol.lower if verified.branches else min(symbol.lower, 1)
        least = least if asked else 0
        most = math.inf if symbol.upper is None else symbol.upper
        tried = [row.sizes.get(symbol.name) for row in verified.rows if row.verdict in _COMPARED]
        if any(size is not None and not least <= size <= most for size in tried):
            found.add(symbol.name)
    return frozenset(found)


def pairs(loaded: Loaded, lowered: Lowered) -> Iterator[tuple[Symbol, Symbol]]:
    """Unnamed sizes, equal in the example, that look like one."""
    unnamed = [symbol for symbol in lowered.symbols if _unnamed(loaded, symbol)]
    for first, second in itertools.combinations(unnamed, 2):
        if _alike(first, second):
            yield first, second


def tie(loaded: Loaded, lowered: Lowered, verified: Verified) -> Tied | None:
    """Two of those, where changing one without the other fails."""
    for row in verified.rows:
        for first, second in pairs(loaded, lowered) if row.verdict is Verdict.FAIL else ():
            if _differ(row, first, second):
                return Tied(first, second, row)
    return None


def _differ(row: Row, first: Symbol, second: Symbol) -> bool:
    return row.sizes.get(first.name) != row.sizes.get(second.name)


def is_apart(row: Row, pair: Tied) -> bool:
    return _differ(row, pair.first, pair.second)


def to_be_one(
    loaded: Loaded, lowered: Lowered, verified: Verified, crossed: Sequence[Crossed]
) -> list[Tied]:
    """Those that are assumed to be equal, and each that alone explains a failure which no assumption
    does: to ask more about sizes would lead nowhere."""
    found = assumed_equal(loaded, lowered, crossed)
    explained = {id(one.row) for one in crossed}
    alike = list(pairs(loaded, lowered))
    for row in verified.rows:
        if row.verdict is not Verdict.FAIL or row.choices or id(row) in explained:
            continue
        if any(is_apart(row, one) for one in found):
            continue
        taken = {name for one in found for name in (one.first.name, one.second.name)}
        match _guilty(alike, row, verified):
            # Of three sizes, the third goes along next time.
            case [(first, second)] if taken.isdisjoint((first.name, second.name)):
                found.append(Tied(first, second, row))
    return found


def _guilty(
    alike: Sequence[tuple[Symbol, Symbol]], row: Row, verified: Verified
) -> list[tuple[Symbol, Symbol]]:
    """Those that differ in a row that fails, and nothing else changed there; or that never differ that
    way where the file is right."""
    example = verified.rows[0].sizes
    changed = _changed(row, example)
    apart = [pair for pair in alike if _differ(row, *pair)]
    alone = [pair for pair in apart if changed <= {symbol.name for symbol in pair}]
    if len(alone) == 1:
        return alone
    passed = [one.sizes for one in verified.rows if one.verdict is Verdict.PASS]
    return [
        (first, second)
        for first, second in alone or apart
        if not any(_way(at, first, second) == _way(row.sizes, first, second) for at in passed)
    ]


def _way(sizes: Mapping[str, int], first: Symbol, second: Symbol) -> int:
    """Which of the two is larger."""
    one, other = sizes[first.name], sizes[second.name]
    return (one > other) - (one < other)


def assumed_equal(loaded: Loaded, lowered: Lowered, crossed: Sequence[Crossed]) -> list[Tied]:
    """The same where the capture says so itself, in an assumption that holds whenever they are equal: to
    ask whether they are would lead nowhere."""
    unnamed = [symbol for symbol in lowered.symbols if _unnamed(loaded, symbol)]
    for one in crossed:
        said = one.boundary.condition
        names = {str(size) for size in said.free_symbols} if isinstance(said, sympy.Eq) else set()
        alike = _by_likeness([symbol for symbol in unnamed if symbol.name in names])
        if any(len(same) > 1 for same in alike) and _is_equality(said, alike):
            return [Tied(same[0], other, one.row) for same in alike for other in same[1:]]
    return []


def refused_apart(loaded: Loaded, lowered: Lowered, verified: Verified) -> list[Tied]:
    """Those on offer that would have one name if they were one (`batch`, `batch_1`), where the model takes
    none that is larger than the other, or none that is smaller: a mask may have rows that nobody asks for,
    and is meant to have as many as there are."""
    example = verified.rows[0].sizes
    found: dict[str, Tied] = {}  # by the one that gives up its name
    for first, second in pairs(loaded, lowered):
        if _kind(first) != _kind(second) or not found.keys().isdisjoint((first.name, second.name)):
            continue
        if any(spec.asked for spec in specs_of(loaded, (*first.sources, *second.sources))):
            continue
        apart = [row for row in verified.rows if _differ(row, first, second)]
        for way in (1, -1):
            rows = [row for row in apart if _way(row.sizes, first, second) == way]
            alone = [row for row in rows if _changed(row, example) <= {first.name, second.name}]
            if alone and all(row.verdict is Verdict.REFUSED for row in rows):
                found.setdefault(second.name, Tied(first, second, alone[0]))
    return list(found.values())


def _kind(symbol: Symbol) -> str:
    return _NUMBER.sub("", symbol.name)


def _changed(row: Row, example: Mapping[str, int]) -> set[str]:
    return {name for name, size in row.sizes.items() if size != example.get(name)}


def _by_likeness(symbols: Sequence[Symbol]) -> list[list[Symbol]]:
    found: list[list[Symbol]] = []
    for symbol in symbols:
        same = next((each for each in found if _alike(each[0], symbol)), None)
        if same is None:
            found.append([symbol])
        else:
            same.append(symbol)
    return found


def _is_equality(said: Any, alike: Sequence[Sequence[Symbol]]) -> bool:
    """Whether sizes that are equal are all it takes: of each is made the same (`n // 8`)."""
    choices = [
        np.arange(1, 4 * same[0].example + _MOST_LIKELY if len(alike) == 1 else _MOST_TOGETHER)
        for same in alike
    ]
    sizes = np.meshgrid(*choices, sparse=True)
    names = {
        sympy.Symbol(symbol.name): size
        for same, size in zip(alike, sizes, strict=True)
        for symbol in same
    }
    return said.free_symbols == names.keys() and bool(holding(said, names).all())


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
