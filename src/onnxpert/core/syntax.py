"""The syntax of a file: read once, however many ask what stands at a line."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping
from pathlib import Path


@functools.lru_cache(maxsize=64)
def tree_of(file: str) -> ast.AST | None:
    try:
        return ast.parse(Path(file).read_text(encoding="utf-8"))
    except (OSError, SyntaxError, ValueError):
        return None


@functools.lru_cache(maxsize=64)
def nodes_of(file: str) -> tuple[ast.AST, ...]:
    """All there is in a file, outer before inner; nothing where it cannot be read."""
    tree = tree_of(file)
    return () if tree is None else tuple(ast.walk(tree))


@functools.lru_cache(maxsize=64)
def parents_of(file: str) -> Mapping[ast.AST, ast.AST]:
    """What each is directly in."""
    return {child: node for node in nodes_of(file) for child in ast.iter_child_nodes(node)}
