"""What is marked of a line that asks: the whole of what decides, not the part that was asked first."""

from __future__ import annotations

import ast
import linecache

from onnxpert.core.syntax import nodes_of
from onnxpert.core.types import Location, replace


def whole(place: Location | None) -> Location | None:
    """`a < 5 and b > 3`, where Python asked for `a < 5`; the place itself of any other."""
    if place is None or not place.column:
        return place
    for node in nodes_of(place.file):  # from the outside in: the first is the widest
        if isinstance(node, ast.BoolOp) and _holds(node, place):
            start, end = _columns(node, place.file)
            return replace(place, column=start, end_column=end)  # type: ignore[no-any-return]
    return place


def _holds(node: ast.expr, place: Location) -> bool:
    if not node.lineno == node.end_lineno == place.line:
        return False
    start, end = _columns(node, place.file)
    return start <= place.column and place.end_column <= end


def _columns(node: ast.expr, file: str) -> tuple[int, int]:
    """From 1, in characters; `ast` counts bytes."""
    raw = linecache.getline(file, node.lineno).encode()
    ends = (node.col_offset, node.end_col_offset or 0)
    start, end = (len(raw[:place].decode(errors="replace")) for place in ends)
    return start + 1, end + 1
