"""Numbers of the data that Python wants: for an index into what it holds, as in `layers[int(k)](x)` and
`[a, b, c][int(k)]`, for how often to go round, or for itself.

One of few tensors or layers is a branch to each of them, which a file can have; one of few names is not."""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

from onnxpert.capture.written.choices import is_pickable
from onnxpert.core.source import Owner, ownership
from onnxpert.core.statement import called_at, subscripted
from onnxpert.core.surrounding import is_gone_through
from onnxpert.core.types import Asked, Location

_UNKNOWN = object()


def wanted(place: Location | None, calls: Sequence[str]) -> Asked:
    """What Python wants a number for that the data give, while these functions of torch's are running."""
    by = calls[-1] if calls else ""
    goes_round = by == "unbind" or (not by and called_at(place) == "range")
    if goes_round and place is not None and is_gone_through(place):
        return Asked.LOOP
    return Asked.BRANCH if picks(place) else Asked.NUMBER


def picks(place: Location | None) -> bool:
    """Whether the code that is running at a place takes one of few things that can each be followed."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and ownership(frame.f_code.co_filename) <= Owner.LAYER:
        held = frame.f_locals.get("self")
        # torch's own lists of layers ask for the number themselves.
        if frame.f_code.co_name == "_get_abs_string_index" and is_pickable(held):
            return True
        frame = frame.f_back
    base = subscripted(place) if place is not None else None
    if frame is None or base is None:
        return False
    return is_pickable(_value(base, frame))


def _value(said: ast.expr, frame: FrameType) -> Any:
    """What an expression stands for that only names things; nothing is run for it."""
    if isinstance(said, ast.Name):
        return frame.f_locals.get(said.id, frame.f_globals.get(said.id, _UNKNOWN))
    if isinstance(said, (ast.List, ast.Tuple)):
        return [_value(each, frame) for each in said.elts]
    if isinstance(said, ast.Constant):
        return said.value
    if isinstance(said, ast.Attribute):
        owner = _value(said.value, frame)
        for names in (getattr(owner, "__dict__", {}), *map(vars, type(owner).__mro__)):
            held = {**names, **names.get("_modules", {})} if "_modules" in names else names
            if said.attr in held:
                return held[said.attr]
    return _UNKNOWN
