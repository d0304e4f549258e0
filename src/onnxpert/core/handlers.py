"""What the handlers around a line catch, and go on without."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator

from onnxpert.core.syntax import nodes_of


@functools.lru_cache(maxsize=4096)
def caught_around(file: str, line: int) -> frozenset[str]:
    """The names of the errors that a `try` around a line catches and does not raise again; the empty
    name where it catches everything."""
    found: set[str] = set()
    for node in nodes_of(file):
        if isinstance(node, ast.Try) and any(
            one.lineno <= line <= (one.end_lineno or one.lineno) for one in node.body
        ):
            for handler in node.handlers:
                if not isinstance(handler.body[-1], ast.Raise):
                    found.update(_names(handler.type))
    return frozenset(found)


def _names(kind: ast.expr | None) -> Iterator[str]:
    if isinstance(kind, ast.Tuple):
        for one in kind.elts:
            yield from _names(one)
    else:
        yield str(getattr(kind, "attr", getattr(kind, "id", "")))
