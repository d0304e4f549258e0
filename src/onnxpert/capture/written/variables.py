"""Which variables a function has, and which of them a statement in it may change."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from onnxpert.capture.written.syntax import own

_CHANGES = frozenset(
    {
        "append",
        "appendleft",
        "extend",
        "insert",
        "pop",
        "popleft",
        "remove",
        "clear",
        "update",
        "setdefault",
        "reverse",
        "add",
    }
)
_HOLDERS = (ast.Name, ast.Subscript, ast.Dict, ast.List, ast.Tuple)


def local_names(node: ast.FunctionDef) -> set[str]:
    names = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)}
    for part in own(node.body):
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
            names.add(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            names.add(part.name)
        elif isinstance(part, (ast.Import, ast.ImportFrom)):
            names |= {(one.asname or one.name).partition(".")[0] for one in part.names}
        elif isinstance(part, ast.ExceptHandler) and part.name:
            names.add(part.name)
        elif isinstance(part, ast.Nonlocal):
            names |= set(part.names)
        if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
            names.add(part.name)
    return names


def declared_elsewhere(node: ast.FunctionDef) -> set[str]:
    """Names that must not be assigned at the top: of outer functions, and those defined there."""
    found: set[str] = set()
    for part in own(node.body):
        if isinstance(part, ast.Nonlocal):
            found |= set(part.names)
    return found


def changed_attributes(part: ast.AST, visible: set[str]) -> Iterator[str]:
    """`self.h = ...`, `self.seen.append(...)`, `self.table[k] = ...`"""
    held: ast.AST | None = None
    if isinstance(part, ast.Attribute) and not isinstance(part.ctx, ast.Load):
        held = part
    elif isinstance(part, ast.Subscript) and not isinstance(part.ctx, ast.Load):
        held = part.value
    elif isinstance(part, ast.Call) and isinstance(part.func, ast.Attribute):
        held = part.func.value if part.func.attr in _CHANGES else None
    elif isinstance(part, ast.AugAssign):
        held = part.target
    text = ast.unparse(held) if isinstance(held, ast.Attribute) else ""
    parts = text.split(".")
    if text and all(map(str.isidentifier, parts)) and parts[0] in visible:
        yield text


def same_things(node: ast.FunctionDef) -> dict[str, set[str]]:
    """Names that may hold one list: `b = a`, `a = b = []`, `kept = {"rows": a}`."""
    groups: dict[str, set[str]] = {}
    for part in own(node.body):
        if not isinstance(part, ast.Assign):
            continue
        parts = list(part.targets)
        if isinstance(part.value, _HOLDERS):
            parts.append(part.value)
        held = {name for each in parts for name in _held_names(each)}
        group = held.union(*(groups.get(name, ()) for name in held))
        groups |= dict.fromkeys(group, group)
    return groups


def _held_names(part: ast.AST) -> Iterator[str]:
    if isinstance(part, ast.Name):
        yield part.id
    elif isinstance(part, ast.Subscript):
        yield from _held_names(part.value)
    elif isinstance(part, (ast.Dict, ast.List, ast.Tuple)):
        for one in part.values if isinstance(part, ast.Dict) else part.elts:
            yield from _held_names(one)
