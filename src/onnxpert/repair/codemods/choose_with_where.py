"""`if` on a tensor's value, said with torch.where."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page


@codemod("choose-with-where", cures=("CTL401", "CTL406", "CTL409"))
def choose_with_where(page: Page) -> Iterator[Edit]:
    """A choice between two values by a tensor's value is torch.where, which computes both."""
    for node in ast.walk(page.tree):
        if isinstance(node, ast.IfExp) and page.is_tensor(node.test) and page.function(node):
            yield page.edit(
                node, _where(page, node.test, page.code(node.body), page.code(node.orelse))
            )
    for node in page.statements(ast.If):
        assert isinstance(node, ast.If)
        if page.is_tensor(node.test):
            yield from _statement(page, node)


def _where(page: Page, test: ast.expr, yes: str, no: str) -> str:
    return f"torch.where({page.code(test)}, {yes}, {no})"


def _statement(page: Page, node: ast.If) -> Iterator[Edit]:
    if len(node.body) != 1 or len(node.orelse) > 1:
        return
    yes, after = node.body[0], _following(page, node)
    no = node.orelse[0] if node.orelse else None
    if isinstance(yes, ast.Return) and yes.value is not None:
        no = no or after
        if isinstance(no, ast.Return) and no.value is not None:
            chosen = _where(page, node.test, page.code(yes.value), page.code(no.value))
            yield page.edit(node, f"return {chosen}")
            if no is after:
                yield Edit(page.whole_lines(no), "")
        return
    name, value = _assigned(page, yes)
    other, otherwise = _assigned(page, no) if no is not None else (name, name)
    if name and name == other:
        yield page.edit(node, f"{name} = {_where(page, node.test, value, otherwise)}")


def _following(page: Page, node: ast.If) -> ast.stmt | None:
    body = getattr(page.parent(node), "body", [])
    at = body.index(node) + 1 if node in body else len(body)
    return body[at] if at < len(body) else None


_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def _assigned(page: Page, node: ast.stmt) -> tuple[str, str]:
    """The name and the value of an assignment, ("", "") for any other statement."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target = node.targets[0]
        return (target.id, page.code(node.value)) if isinstance(target, ast.Name) else ("", "")
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        sign = _SIGNS.get(type(node.op))
        if sign:
            return node.target.id, f"{node.target.id} {sign} {page.operand(node.value)}"
    return "", ""
