"""Attributes that forward assigns for itself, as local names."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.guarding import guarded
from onnxpert.repair.source.page import Page, below, dotted, names_in

_ADDING = ("append", "extend", "add", "update")


@codemod("keep-values-local", cures=("STA302",))
def keep_values_local(page: Page) -> Iterator[Change]:
    """What forward puts on the module is not in the file: a name of its own, or outside of exports alone."""
    for owner in below(page.tree, cst.ClassDef):
        uses: dict[str, list[cst.Attribute]] = {}
        for node in below(owner, cst.Attribute):
            if dotted(node.value) == "self":
                uses.setdefault(node.attr.value, []).append(node)
        taken = names_in(owner)
        strings = {each.raw_value for each in below(owner, cst.SimpleString)}
        for name, nodes in uses.items():
            if (log := _log(page, nodes)) and name not in strings:  # a buffer is registered by name
                for statement in log:
                    yield from _outside(page, statement)
                continue
            here = [node for node in nodes if _function(page, node) == "forward"]
            # A constructor may give it a first value; whoever reads it anywhere else needs it there.
            if all(_assignment(page, node) for node in nodes if node not in here):
                yield from _localised(page, here, f"{name}_" if name in taken else name)


def _localised(page: Page, uses: list[cst.Attribute], name: str) -> Iterator[Change]:
    """Assigned first, at the top of the function, so that it is there wherever it is read."""
    first = _assignment(page, uses[0]) if uses else None
    line = page.line(first) if first else None
    if first is None or line is None or not _is_at_top(page, line):
        return
    if len(uses) == 1:  # it is for somebody outside
        yield from guarded(page, line)
    else:
        yield from ((node, cst.Name(name)) for node in uses)


def _outside(page: Page, statement: cst.BaseSmallStatement) -> Iterator[Change]:
    if line := page.line(statement):
        yield from guarded(page, line)


def _log(page: Page, uses: list[cst.Attribute]) -> list[cst.BaseSmallStatement]:
    """The statements of the model that add to an attribute; [] if anybody reads it."""
    later = [_note(page, node) for node in uses if _function(page, node) != "__init__"]
    return [each for each in later if each and page.has_run(each)] if all(later) else []


def _note(page: Page, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
    """The statement that only adds to what an attribute holds, None for any other use of it."""
    around = page.parent(node)
    if isinstance(around, cst.Attribute) and around.attr.value in _ADDING:
        found = page.parent(page.parent(around) or around)
        return found if isinstance(found, cst.Expr) else None
    place = around if isinstance(around, cst.Subscript) and around.value is node else node
    if place is not node and (made := _assignment(page, place)):
        return made
    found = page.parent(place)
    return found if isinstance(found, cst.AugAssign) and found.target is place else None


def _assignment(page: Page, node: cst.CSTNode) -> cst.Assign | None:
    """The statement `node = ...`, None where it is not assigned but read."""
    target = page.parent(node)
    found = page.parent(target) if isinstance(target, cst.AssignTarget) else None
    return found if isinstance(found, cst.Assign) else None


def _is_at_top(page: Page, line: cst.CSTNode) -> bool:
    block = page.parent(line)
    return block is not None and isinstance(page.parent(block), cst.FunctionDef)


def _function(page: Page, node: cst.CSTNode) -> str:
    function = page.function(node)
    return function.name.value if function else ""
