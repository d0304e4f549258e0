"""What forward keeps for somebody outside: it is written, and nothing of the model reads it."""

from __future__ import annotations

import libcst as cst

from onnxpert.repair.source.page import Page, below, dotted
from onnxpert.repair.source.printing import is_printed

_ADDING = ("append", "extend", "add", "update")


def is_logged(page: Page, node: cst.CSTNode) -> bool:
    """Whether an expression is only kept so: a tensor there would hold all that it was computed of."""
    found: cst.CSTNode | None = node
    while found is not None and not isinstance(found, cst.BaseSmallStatement):
        found = page.parent(found)
    if found is None:
        return False
    kept = (log for owner in below(page.tree, cst.ClassDef) for log in logs(page, owner).values())
    return any(found is each for log in kept for each in log) or is_for_others(page, found)


def logs(page: Page, owner: cst.ClassDef) -> dict[str, list[cst.BaseSmallStatement]]:
    """By attribute, the statements that add to it, where nothing that the model runs reads it."""
    strings = {each.raw_value for each in below(owner, cst.SimpleString)}
    found = {name: _log(page, uses) for name, uses in attributes(owner).items()}
    # A buffer is registered by name.
    return {name: log for name, log in found.items() if log and name not in strings}


def attributes(owner: cst.ClassDef) -> dict[str, list[cst.Attribute]]:
    """Where a class names `self.name`, by the name."""
    uses: dict[str, list[cst.Attribute]] = {}
    for node in below(owner, cst.Attribute):
        if dotted(node.value) == "self":
            uses.setdefault(node.attr.value, []).append(node)
    return uses


def _log(page: Page, uses: list[cst.Attribute]) -> list[cst.BaseSmallStatement]:
    later = [node for node in uses if function_name(page, node) != "__init__"]
    notes = [_note(page, node) for node in later if page.has_run(node)]
    return [each for each in notes if each] if all(notes) else []


def _note(page: Page, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The statement that only adds to what an attribute holds, None for any other use of it."""
    around = page.parent(node)
    if isinstance(around, cst.Attribute) and around.attr.value in _ADDING:
        found = page.parent(page.parent(around) or around)
        return found if isinstance(found, cst.Expr) else None
    place = around if isinstance(around, cst.Subscript) and around.value is node else node
    if place is not node and (made := assignment(page, place)):
        return made
    found = page.parent(place)
    return found if isinstance(found, cst.AugAssign) and found.target is place else None


def is_for_others(page: Page, statement: cst.CSTNode) -> bool:
    """Whether it gives a global name a value that this file at most prints."""
    target = page.assigned(statement)[0]
    function = page.function(statement)
    if not isinstance(target, cst.Name) or function is None:
        return False
    names = (each for line in below(function, cst.Global) for each in line.names)
    if target.value not in {each.name.value for each in names}:
        return False
    uses = (each for each in below(page.tree, cst.Name) if each.value == target.value)
    return all(is_printed(page, each) for each in uses if page.values(each))


def assignment(page: Page, node: cst.CSTNode) -> cst.Assign | None:
    """The statement `node = ...`, None where it is not assigned but read."""
    target = page.parent(node)
    found = page.parent(target) if isinstance(target, cst.AssignTarget) else None
    return found if isinstance(found, cst.Assign) else None


def function_name(page: Page, node: cst.CSTNode) -> str:
    function = page.function(node)
    return function.name.value if function else ""
