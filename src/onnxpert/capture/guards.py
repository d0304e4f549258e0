"""What a capture assumed about sizes, read from torch's shape environment with the user's line."""

from __future__ import annotations

from typing import Any

from onnxpert.core.source import location
from onnxpert.core.types import Guard


def guards_of(environment: Any) -> tuple[Guard, ...]:
    """Every assumption on sizes that the run recorded, in its order."""
    if environment is None:
        return ()
    found = []
    for guard in environment.guards:
        symbols = tuple(sorted(str(symbol) for symbol in guard.expr.free_symbols))
        found.append(Guard(str(guard.expr), symbols, _line(guard.sloc)))
    return tuple(found)


def _line(sloc: Any) -> Any:
    places = [getattr(sloc, "framework_loc", None), getattr(sloc, "maybe_user_loc", None)]
    frames = [(p.filename, p.lineno, p.name) for p in places if hasattr(p, "filename")]
    return location(frames)
