"""Which conditions and loops of a function a number decides that is read at a place of it."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Iterator, Sequence

from onnxpert.core.syntax import nodes_of, tree_of
from onnxpert.core.types import Location, replace

_CONDITIONS = (ast.If, ast.IfExp, ast.While, ast.Assert)


def deciding(place: Location, axes: Sequence[int] | None = None) -> Iterator[Location]:
    """Those that hold the place itself, or a variable that is assigned there; `axes` are the places of
    the number where all sizes of a tensor are read at once: `rows, columns = x.shape`."""
    tree = tree_of(place.file)
    function = None if tree is None else _function(tree, place.line)
    if function is None:
        return
    names = _assigned(function, place, axes)
    lines: dict[int, None] = {}
    for node in ast.walk(function):
        for test in _tests(node):
            if _holds(test, place, axes) or _names(test) & names:
                lines[test.lineno] = None
    for line in lines:
        code = linecache.getline(place.file, line).strip()
        calls = place.calls if line == place.line else ()
        yield replace(place, line=line, code=code, column=0, end_column=0, calls=calls)


def is_given_a_variable(file: str, line: int) -> bool:
    """Whether a call on a line is given a list by its name, or one of what a condition lets through."""
    for node in nodes_of(file):
        given = node.args[0] if isinstance(node, ast.Call) and node.args else None
        if given is None or not _covers(node, line):
            continue
        filtered = isinstance(given, ast.ListComp) and any(each.ifs for each in given.generators)
        if isinstance(given, ast.Name) or filtered:
            return True
    return False


@functools.lru_cache(4096)
def _function(tree: ast.AST, line: int) -> ast.AST | None:
    """The innermost function around a line, looked for once: a loop asks again in each turn."""
    found = None
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and _covers(node, line):
            found = node
    return found


def _tests(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, _CONDITIONS):
        return [node.test]
    if isinstance(node, (ast.For, ast.comprehension)):
        counted = isinstance(node.iter, ast.Call) and getattr(node.iter.func, "id", "") == "range"
        filters = node.ifs if isinstance(node, ast.comprehension) else []
        return [*filters, *([node.iter] if counted else [])]
    return []


def _covers(node: ast.AST, line: int) -> bool:
    return bool(node.lineno <= line <= (node.end_lineno or 0))  # type: ignore[attr-defined]


def _holds(test: ast.expr, place: Location, axes: Sequence[int] | None) -> bool:
    """Whether the number is read within an expression; of all sizes, the one that it picks."""
    if not _covers(test, place.line):
        return False
    picks = [_picked(each) for each in ast.walk(test)]
    picked = [index for index in picks if index is not None]
    return axes is None or not picked or any(index in axes or index < 0 for index in picked)


def _picked(node: ast.AST) -> int | None:
    """The axis in `x.shape[1]` or `x.size(1)`."""
    held: ast.AST | None = None
    if isinstance(node, ast.Subscript) and getattr(node.value, "attr", "") == "shape":
        held = node.slice
    if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "size" and node.args:
        held = node.args[0]
    return _number(held)


def _number(node: ast.AST | None) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        found = _number(node.operand)
        return None if found is None else -found
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int) else None


def _assigned(function: ast.AST, place: Location, axes: Sequence[int] | None) -> set[str]:
    """The variables that hold the number, or what is computed of it in the same statement."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Assign) or not _covers(node, place.line):
            continue
        target = node.targets[0]
        if isinstance(target, ast.Name) and _holds(node.value, place, axes):
            return {target.id} if _is_number(node.value) else set()
        if isinstance(target, ast.Tuple) and _is_whole(node.value) and axes is not None:
            named = dict(enumerate(target.elts))
            return {each.id for a in axes if isinstance(each := named.get(a), ast.Name)}
    return set()


_COMPUTING = frozenset({"int", "len", "min", "max", "round", "abs", "float", "size", "numel"})


def _is_number(value: ast.expr) -> bool:
    """Whether an expression is arithmetic on sizes, rather than a tensor that has them."""
    if isinstance(value, ast.BinOp):
        return _is_number(value.left) and _is_number(value.right)
    if isinstance(value, ast.UnaryOp):
        return _is_number(value.operand)
    if isinstance(value, ast.Call):
        name = getattr(value.func, "id", getattr(value.func, "attr", ""))
        return name in _COMPUTING and not _is_whole(value)
    if isinstance(value, ast.Subscript):
        return getattr(value.value, "attr", "") == "shape"
    if isinstance(value, ast.Attribute):
        return not _is_whole(value)
    return isinstance(value, (ast.Name, ast.Constant))


def _is_whole(value: ast.expr) -> bool:
    """`x.shape` and `x.size()`, of which nothing is picked."""
    if isinstance(value, ast.Call):
        return getattr(value.func, "attr", "") == "size" and not value.args
    return isinstance(value, ast.Attribute) and value.attr == "shape"


def _names(test: ast.expr) -> set[str]:
    return {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
