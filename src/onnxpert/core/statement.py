"""What the source says at a place, and where it says a thing: read as a tree, never run."""

from __future__ import annotations

import ast
import functools
import linecache
from enum import StrEnum, auto
from pathlib import Path
from typing import Any

from onnxpert.core.types import Location


class Statement(StrEnum):
    """What the answer decides."""

    IF = auto()
    WHILE = auto()
    ASSERT = auto()


_KINDS: dict[type[ast.AST], Statement] = {
    ast.If: Statement.IF,
    ast.IfExp: Statement.IF,
    ast.While: Statement.WHILE,
    ast.Assert: Statement.ASSERT,
}


def statement(place: Location) -> Statement | None:
    """The statement whose condition stands at a place; None where it is no condition's line."""
    found: Statement | None = None
    tree = _tree(place.file)
    for node in ast.walk(tree) if tree is not None else ():
        test = getattr(node, "test", None) if type(node) in _KINDS else None
        if isinstance(test, ast.expr) and _covers(test, place):
            found = _KINDS[type(node)]  # the walk goes inwards: the last is the innermost
    return found


def raises(place: Location) -> bool:
    """Whether the place is within a `raise`, or the message of an `assert`: it ends there anyway."""
    tree = _tree(place.file)
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.Raise) and _covers(node, place):
            return True
        if isinstance(node, ast.Assert) and node.msg is not None and _covers(node.msg, place):
            return True
    return False


def _covers(test: ast.expr | ast.stmt, place: Location) -> bool:
    return test.lineno <= place.line <= (test.end_lineno or test.lineno)


@functools.lru_cache(maxsize=64)
def _tree(file: str) -> ast.AST | None:
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


_CHANGING = frozenset(
    {
        "append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "add",
        "discard", "popitem", "appendleft", "popleft", "reverse", "sort",
    }
)  # fmt: skip


def write_of(file: str, name: str, module: str = "", inside: str = "") -> Location | None:
    """The first place in a function where a variable, or an attribute of that name, is written or
    changed; `inside` is the class to look in."""
    tree = _tree(file)
    for function in _functions(tree, inside) if tree is not None else ():
        if function.name == "__init__":
            continue
        for node in ast.walk(function):
            if any(_names(target, name, attribute=bool(inside)) for target in _targets(node)):
                return _at(file, node, module, function.name)
    return None


def _functions(tree: ast.AST, inside: str) -> list[ast.FunctionDef]:
    scope = tree
    if inside:
        last = inside.rpartition(".")[2]
        found = [n for n in ast.walk(tree) if isinstance(n, ast.ClassDef) and n.name == last]
        scope = found[0] if found else tree
    return [node for node in ast.walk(scope) if isinstance(node, ast.FunctionDef)]


def _targets(node: ast.AST) -> list[ast.expr]:
    """What a statement or call writes to."""
    if isinstance(node, ast.Assign):
        return node.targets
    if isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        return [node.target]
    if isinstance(node, ast.Delete):
        return node.targets
    changes = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    if changes and node.func.attr in _CHANGING:  # type: ignore[attr-defined]
        return [node.func.value]  # type: ignore[attr-defined]
    return []


def _names(target: ast.expr, name: str, *, attribute: bool) -> bool:
    while isinstance(target, ast.Subscript):
        target = target.value
    if attribute:
        return isinstance(target, ast.Attribute) and target.attr == name
    return isinstance(target, ast.Name) and target.id == name


def _at(file: str, node: Any, module: str, function: str) -> Location:
    text = linecache.getline(file, node.lineno)
    end = node.end_col_offset if node.end_lineno == node.lineno else len(text.rstrip())
    return Location(file, node.lineno, module, function, text.strip(), node.col_offset + 1, end + 1)
