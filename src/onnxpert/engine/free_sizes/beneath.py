"""Smallest sizes as the proof saw them: beneath those that only the capture named, and above those
at which the model raises.

torch asks of many a size whether it is 1, and takes the answer for a limit: after a convolution in
steps of two, that there are at least three. Neither the model nor the file needs that. Of other sizes
it asks in words that it draws no limit from: whether there is a second piece of `ceil(n / 3)`."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.types import Captured, Loaded, Lowered, Symbol, Verdict, Verified, replace
from onnxpert.engine.free_sizes.offers import specs_of
from onnxpert.engine.saving import saved
from onnxpert.engine.walk import Walk
from onnxpert.lower.boundaries import broken
from onnxpert.lower.dims import write_ranges
from onnxpert.save import discard


def reach_down(walk: Walk, loaded: Loaded, path: Path) -> None:
    """Write each smallest size into the file as far down as every case passed, and no further."""
    assert walk.lowered is not None
    assert walk.verified is not None
    assert walk.saved is not None
    # Where values decide, a few sizes show one side: the other may need the bound.
    found = walk.captured
    sided = not isinstance(found, Captured) or bool(found.reads or found.branches)
    symbols = tuple(
        replace(symbol, lower=least)
        if not sided and (least := _least(loaded, symbol, walk.verified))
        else _refused_beneath(symbol, walk.lowered, walk.verified)
        for symbol in walk.lowered.symbols
    )
    if symbols == walk.lowered.symbols:
        return
    write_ranges(walk.lowered.model, symbols)
    walk.lowered = replace(walk.lowered, symbols=symbols)
    discard(walk.saved)
    walk.saved = saved(walk, path)


def _least(loaded: Loaded, symbol: Symbol, verified: Verified) -> int | None:
    """The smallest size that is right with all that were tried between it and the bound, the one
    right beneath it among them; None where the bound stands, or is the user's own word."""
    if any(spec.lower == symbol.lower for spec in specs_of(loaded, symbol.sources)):
        return None
    tried: dict[int, bool] = {}
    for row in verified.rows:
        size = row.sizes.get(symbol.name)
        if size is not None and size < symbol.lower:
            tried[size] = tried.get(size, True) and row.verdict is Verdict.PASS
    if not tried.get(symbol.lower - 1):
        return None
    wrong = max((size for size, right in tried.items() if not right), default=0)
    return min(size for size in tried if size > wrong)


def _refused_beneath(symbol: Symbol, lowered: Lowered, verified: Verified) -> Symbol:
    """From where on the model takes the size, where it raises at a smaller one for what the capture
    assumed and no case that passed is beyond."""
    example = verified.rows[0].sizes
    refused = max(
        (
            row.sizes[symbol.name]
            for row in verified.rows
            if row.verdict is Verdict.REFUSED
            and row.sizes == {**example, symbol.name: row.sizes.get(symbol.name)}
            and symbol.lower <= row.sizes[symbol.name] < symbol.example
        ),
        default=0,
    )
    if not refused:
        return symbol
    passed = [row.sizes for row in verified.rows if row.verdict is Verdict.PASS]
    found: dict[int, Symbol] = {}
    for boundary in lowered.boundaries:
        if boundary.guard.symbols != (symbol.name,) or any(broken(boundary, at) for at in passed):
            continue
        ends = [n for n in range(1, symbol.example) if broken(boundary, {symbol.name: n})]
        if ends == list(range(1, len(ends) + 1)) and len(ends) >= refused:
            at = boundary.guard.location
            found.setdefault(len(ends) + 1, replace(symbol, lower=len(ends) + 1, bounded_at=at))
    return found[min(found)] if found else symbol
