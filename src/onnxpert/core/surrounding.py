"""What stands around a line of the user's: the loop that it is in, the `return` of its function."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator

from onnxpert.core.statement import tree_of
from onnxpert.core.types import Location, replace

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def loops_around(file: str, line: int) -> tuple[int, ...]:
    """The lines of the `for`s that a line is in the body of, outermost first, within its function."""
    found: list[int] = []
    tree = tree_of(file)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, _FUNCTIONS) and node.lineno <= line <= (node.end_lineno or 0):
            found.clear()  # the walk goes inwards: what is outside of the function is not in it
        if isinstance(node, ast.For) and node.body[0].lineno <= line <= _last(node.body):
            found.append(node.lineno)
        if isinstance(node, ast.comprehension) and node.target.lineno <= line <= _end(node):
            found.append(node.target.lineno)
    return tuple(found)


def _last(body: list[ast.stmt]) -> int:
    return body[-1].end_lineno or body[-1].lineno


def _end(node: ast.comprehension) -> int:
    return node.iter.end_lineno or node.iter.lineno


def returned(definition: Location | None) -> Location | None:
    """Where the function that is defined at a place returns; the place itself where that is not one
    line."""
    tree = tree_of(definition.file) if definition is not None else None
    if definition is None or tree is None:
        return definition
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.lineno == definition.line:
            lines = [each.lineno for each in _own(node) if isinstance(each, ast.Return)]
            if len(lines) == 1:
                code = linecache.getline(definition.file, lines[0]).strip()
                return replace(definition, line=lines[0], code=code)  # type: ignore[no-any-return]
    return definition


def _own(function: ast.AST) -> Iterator[ast.AST]:
    """What is written in a function, and not in one inside of it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, _FUNCTIONS):
            yield child
            yield from _own(child)
