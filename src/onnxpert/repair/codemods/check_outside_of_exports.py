"""Checks of tensor values, made when the model runs and not when it is exported."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page

_GUARD = "if not torch.compiler.is_exporting():"


@codemod("check-outside-of-exports", cures=("CTL404", "CTL407", "CTL401"))
def check_outside_of_exports(page: Page) -> Iterator[Edit]:
    """A check of values cannot be in the graph; outside of an export it is made as before."""
    for node in page.statements(ast.Assert):
        assert isinstance(node, ast.Assert)
        if _asks(page, node.test) and not _is_guarded(page, node):
            yield _guarded(page, node)
    for node in page.statements(ast.If):
        assert isinstance(node, ast.If)
        raises = len(node.body) == 1 and isinstance(node.body[0], ast.Raise)
        asks = raises and not node.orelse and _asks(page, node.test)
        if asks and not _is_guarded(page, node):
            yield _guarded(page, node)


def _asks(page: Page, test: ast.expr) -> bool:
    return any(page.is_tensor(each) for each in ast.walk(test) if isinstance(each, ast.expr)) and (
        page.is_tensor(test)
        or ".item()" in page.code(test)
        or "bool(" in page.code(test)
        or isinstance(test, (ast.BoolOp, ast.UnaryOp))
        or "allclose" in page.code(test)
    )


def _is_guarded(page: Page, node: ast.stmt) -> bool:
    around = page.parent(node)
    return isinstance(around, ast.If) and "is_exporting" in page.code(around.test)


def _guarded(page: Page, node: ast.stmt) -> Edit:
    indent = page.indent(node)
    lines = page.code(node).splitlines(keepends=True)
    body = "".join(line if number == 0 else f"    {line}" for number, line in enumerate(lines))
    return page.edit(node, f"{_GUARD}{page.newline}{indent}    {body}")
