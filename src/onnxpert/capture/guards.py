"""What a capture assumed about sizes, read from torch's shape environment with the user's line."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import sympy

from onnxpert.capture.places import Place
from onnxpert.capture.reasoning import Frugal
from onnxpert.core.source import location
from onnxpert.core.types import Guard, Location


def guards_of(environment: Any) -> tuple[Guard, ...]:
    """Every assumption on sizes that the run recorded, in its order."""
    if environment is None:
        return ()
    found = []
    if isinstance(environment, Frugal) and environment.definitions:
        spelled = map(environment.spelled_out_guard, environment.guards)
        environment.guards[:] = [guard for guard in spelled if guard.expr != sympy.true]
    for guard in environment.guards:
        symbols = tuple(sorted(str(symbol) for symbol in guard.expr.free_symbols))
        found.append(Guard(str(guard.expr), symbols, _line(guard.sloc)))
    return tuple(found)


def _line(sloc: Any) -> Location | None:
    if isinstance(sloc, Place):
        return location(sloc.frames)
    frame: Any = getattr(sloc, "framework_loc", None)  # a program made elsewhere
    if not hasattr(frame, "filename"):
        return None
    return location([(frame.filename, frame.lineno, frame.name)])


def sizes_named(text: str, inputs: Iterable[tuple[str, Any]]) -> tuple[tuple[str, int], ...]:
    """(input, axis) of the sizes whose symbols a message of torch's speaks of."""
    words = set(re.findall(r"\bs\d+\b", text))
    return tuple(
        (name, axis)
        for name, value in inputs
        for axis, size in enumerate(getattr(value, "shape", ()))
        if words & {str(symbol) for symbol in _symbols(size)}
    )


def _symbols(size: Any) -> frozenset[Any]:
    node = getattr(size, "node", None)
    return frozenset() if node is None else frozenset(node.expr.free_symbols)
