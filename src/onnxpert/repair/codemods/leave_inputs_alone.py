"""Changes of an input in place, made on a new tensor."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page, everything


@codemod("leave-inputs-alone", cures=("STA304",))
def leave_inputs_alone(page: Page) -> Iterator[Change]:
    """A file cannot change its caller's tensors; the same on a new tensor gives the same outputs."""
    for node in page.each(cst.AugAssign):
        if isinstance(node.target, cst.Name) and _is_parameter(page, node.target):
            sign = page.code(node.operator).strip().removesuffix("=")
            whole = page.statement(
                f"{node.target.value} = {{}} {sign} {{}}", node.target, node.value
            )
            yield node, whole.body[0]
    for call in page.each(cst.Call):
        statement = page.parent(call)
        if isinstance(statement, cst.Expr) and (new := _unchanging(page, call)) is not None:
            yield statement, new
    for target in page.each(cst.Subscript):
        name, statement = _base(target), _write(page, target)
        line = page.line(statement) if statement is not None else None
        if name is None or statement is None or line is None:
            continue
        if _is_parameter(page, name) and not _written_before(page, statement, name.value):
            copy = page.statement(f"{name.value} = {name.value}.clone()")
            yield line, [copy, line.with_changes(leading_lines=[])]


def _base(node: cst.CSTNode) -> cst.Name | None:
    """`x` of `x[0][:, 1]`."""
    while isinstance(node, cst.Subscript):
        node = node.value
    return node if isinstance(node, cst.Name) else None


def _write(page: Page, target: cst.Subscript) -> cst.Assign | cst.AugAssign | None:
    """The statement that writes there, None where it is read."""
    found = page.parent(target)
    if isinstance(found, cst.AssignTarget):
        found = page.parent(found)
        return found if isinstance(found, cst.Assign) else None
    return found if isinstance(found, cst.AugAssign) and found.target is target else None


def _unchanging(page: Page, call: cst.Call) -> cst.BaseSmallStatement | None:
    """`x = x.add(1)` for `x.add_(1)`, None for any other call."""
    if not isinstance(call.func, cst.Attribute) or not isinstance(call.func.value, cst.Name):
        return None
    method, name = call.func.attr.value, call.func.value
    if not method.endswith("_") or method.endswith("__") or not _is_parameter(page, name):
        return None
    plain = call.func.with_changes(attr=cst.Name(method[:-1]))
    return page.statement(f"{name.value} = {{}}", call.with_changes(func=plain)).body[0]


def _is_parameter(page: Page, name: cst.Name) -> bool:
    return name.value in page.parameters(name)


def _written_before(page: Page, node: cst.CSTNode, name: str) -> bool:
    """Whether it is the function's own tensor by then."""
    for each in everything(page.function(node) or node):
        if each is node:
            break
        if isinstance(each, (cst.AssignTarget, cst.AugAssign)) and _is_name(each.target, name):
            return True
    return False


def _is_name(node: cst.CSTNode, name: str) -> bool:
    return isinstance(node, cst.Name) and node.value == name
