"""What a line raises, as its source has it: the values in an f-string are those of one run."""

from __future__ import annotations

import ast

from onnxpert.core.syntax import nodes_of
from onnxpert.core.types import Location


def raised_text(place: Location | None) -> str:
    """`ValueError: at most {n} frames`; nothing of a line that raises no f-string."""
    for node in nodes_of(place.file) if place is not None else ():
        if not isinstance(node, (ast.Raise, ast.Assert)) or place is None:
            continue
        if node.lineno <= place.line <= (node.end_lineno or node.lineno):
            kind, said = _parts(node)
            return f"{kind}: {_template(said)}" if isinstance(said, ast.JoinedStr) else ""
    return ""


def _parts(node: ast.Raise | ast.Assert) -> tuple[str, ast.expr | None]:
    if isinstance(node, ast.Assert):
        return AssertionError.__name__, node.msg
    if not isinstance(node.exc, ast.Call) or not node.exc.args:
        return "", None
    return ast.unparse(node.exc.func), node.exc.args[0]


def _template(said: ast.JoinedStr) -> str:
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else f"{{{_value(part)}}}"
        for part in said.values
    )


def _value(part: ast.expr) -> str:
    return ast.unparse(part.value) if isinstance(part, ast.FormattedValue) else ast.unparse(part)
