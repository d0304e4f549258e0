"""Smallest sizes that only the capture named: the proof went beneath them, and found nothing amiss.

torch asks of many a size whether it is 1, and takes the answer for a limit: after a convolution in
steps of two, that there are at least three. Neither the model nor the file needs that."""

from __future__ import annotations

from pathlib import Path

from onnxpert.core.types import Loaded, Symbol, Verdict, Verified, replace
from onnxpert.engine.offers import specs_of
from onnxpert.engine.saving import saved
from onnxpert.engine.walk import Walk
from onnxpert.lower.dims import write_ranges
from onnxpert.save import discard


def reach_down(walk: Walk, loaded: Loaded, path: Path) -> None:
    """Write each smallest size into the file as far down as every case passed."""
    assert walk.lowered is not None
    assert walk.verified is not None
    assert walk.saved is not None
    symbols = tuple(
        replace(symbol, lower=least) if (least := _least(loaded, symbol, walk.verified)) else symbol
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
