"""Changes of an input in place, made on a new tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page

_SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}


@codemod("leave-inputs-alone", cures=("STA304",))
def leave_inputs_alone(page: Page) -> Iterator[Edit]:
    """A file cannot change its caller's tensors; the same on a new tensor gives the same outputs."""
    for node in page.statements(ast.AugAssign):
        assert isinstance(node, ast.AugAssign)
        sign = _SIGNS.get(type(node.op))
        if sign and isinstance(node.target, ast.Name) and _is_parameter(page, node.target):
            name = node.target.id
            yield page.edit(node, f"{name} = {name} {sign} {page.operand(node.value)}")
    for node in page.statements(ast.Expr):
        assert isinstance(node, ast.Expr)
        if (changed := _changed(page, node.value)) is not None:
            yield page.edit(node, changed)
    for node in page.statements(ast.Assign):
        assert isinstance(node, ast.Assign)
        target = node.targets[0]
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name):
            first = not _written_before(page, node, target.value.id)
            if first and _is_parameter(page, target.value):
                name, indent = target.value.id, page.indent(node)
                copy = f"{name} = {name}.clone(){page.newline}{indent}"
                yield page.edit(node, copy + page.code(node))


def _changed(page: Page, node: ast.expr) -> str | None:
    """`x.add_(1)` as `x = x.add(1)`."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name, value = node.func.attr, node.func.value
    if not name.endswith("_") or name.endswith("__") or not isinstance(value, ast.Name):
        return None
    if not _is_parameter(page, value):
        return None
    after = page.content[page.span(node.func)[1] : page.span(node)[1]]
    return f"{value.id} = {value.id}.{name[:-1]}{after}"


def _is_parameter(page: Page, name: ast.Name) -> bool:
    function = page.function(name)
    arguments = [*function.args.args, *function.args.kwonlyargs] if function else []
    return name.id in {each.arg for each in arguments} and name.id != "self"


def _written_before(page: Page, node: ast.stmt, name: str) -> bool:
    """Whether it is the function's own tensor by then."""
    function = page.function(node)
    return any(
        isinstance(each, ast.Assign)
        and each.lineno < node.lineno
        and any(isinstance(target, ast.Name) and target.id == name for target in each.targets)
        for each in ast.walk(function or node)
    )
