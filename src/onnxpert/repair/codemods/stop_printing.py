"""`print` and logging in forward, left out."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page, dotted

_LOGGERS = frozenset({"logging", "logger", "log", "_logger", "LOGGER", "warnings"})
_LEVELS = frozenset({"debug", "info", "warning", "warn", "error"})


@codemod("stop-printing", cures=("STA306",))
def stop_printing(page: Page) -> Iterator[Edit]:
    """The file prints nothing, and a value that is printed has to be taken out of its tensor."""
    for node in page.statements(ast.Expr):
        assert isinstance(node, ast.Expr)
        call = node.value
        if not isinstance(call, ast.Call):
            continue
        before, _, last = dotted(call.func).rpartition(".")
        printed = dotted(call.func) == "print" and any(page.values(each) for each in _parts(call))
        logged = before.rpartition(".")[2] in _LOGGERS and last in _LEVELS
        if printed or logged or (dotted(call.func) == "print" and page.values(call)):
            body = getattr(page.parent(node), "body", [])
            alone = len([each for each in body if not _is_docstring(each)]) < 2
            yield page.edit(node, "pass") if alone else Edit(page.whole_lines(node), "")


def _parts(call: ast.Call) -> Iterator[ast.AST]:
    for each in call.args:
        yield from ast.walk(each)


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
