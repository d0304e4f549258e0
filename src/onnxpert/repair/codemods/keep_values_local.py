"""Attributes that forward assigns for itself, as local names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.repair.codemod import codemod
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page


@codemod("keep-values-local", cures=("STA302",))
def keep_values_local(page: Page) -> Iterator[Edit]:
    """What forward puts on the module is not in the file; a name of its own gives the same outputs."""
    for owner in ast.walk(page.tree):
        if isinstance(owner, ast.ClassDef):
            yield from _in_class(page, owner)


def _in_class(page: Page, owner: ast.ClassDef) -> Iterator[Edit]:
    uses: dict[str, list[ast.Attribute]] = {}
    for node in ast.walk(owner):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            uses.setdefault(node.attr, []).append(node)
    for name, nodes in uses.items():
        here = [node for node in nodes if _function(page, node) == "forward"]
        elsewhere = [node for node in nodes if node not in here]
        # A constructor may give it a first value; whoever reads it anywhere else needs it there.
        if any(isinstance(each.ctx, ast.Load) for each in elsewhere) or not here:
            continue
        if not isinstance(here[0].ctx, ast.Store) or not _only_tensors(page, here[0]):
            continue
        if min(here, key=lambda each: (each.lineno, each.col_offset)) is here[0]:
            yield from (
                page.edit(node, f"{name}_" if _taken(owner, name) else name) for node in here
            )


def _function(page: Page, node: ast.AST) -> str:
    function = page.function(node)
    return function.name if function else ""


def _only_tensors(page: Page, node: ast.Attribute) -> bool:
    """Assigned once, at the top of the function, so that it is there wherever it is read."""
    parent = page.parent(node)
    return isinstance(parent, ast.Assign) and isinstance(page.parent(parent), ast.FunctionDef)


def _taken(owner: ast.ClassDef, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(owner)) or any(
        isinstance(node, ast.arg) and node.arg == name for node in ast.walk(owner)
    )
