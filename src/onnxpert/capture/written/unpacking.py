"""`first, *rest = parts` and `[*rest, first]` by their places, where only a run of the file knows how many
parts there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from onnxpert.capture.written.leaving import PREFIX, assigned, loaded
from onnxpert.capture.written.syntax import called


def is_unpacking(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred) and isinstance(node.ctx, ast.Store)


class Unpacking(ast.NodeTransformer):
    """What Python itself can go through becomes a list first, as it does there."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers

    def visit_Assign(self, node: ast.Assign) -> Any:
        self.generic_visit(node)
        (target, *others) = node.targets
        if others or not isinstance(target, (ast.Tuple, ast.List)):
            return node
        stars = [place for place, one in enumerate(target.elts) if isinstance(one, ast.Starred)]
        if len(stars) != 1:
            return node
        (star,), name = stars, f"{PREFIX}parts_{next(self._numbers)}"
        behind = len(target.elts) - 1 - star
        statements = [assigned(name, _collected(node.value, star + behind), node)]
        for place, one in enumerate(target.elts):
            end = ast.Constant(-behind) if behind else None
            from_end = place - len(target.elts)
            at: ast.expr = ast.Constant(place if place < star else from_end)
            at = ast.Slice(ast.Constant(star), end) if place == star else at
            into = one.value if isinstance(one, ast.Starred) else one
            statements.append(ast.Assign([into], ast.Subscript(loaded(name), at, ast.Load())))
        return [ast.fix_missing_locations(ast.copy_location(one, node)) for one in statements]

    def visit_List(self, node: ast.List) -> Any:
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load) or not any(map(_is_starred, node.elts)):
            return node
        parts = [
            _collected(one.value) if isinstance(one, ast.Starred) else ast.List([one], ast.Load())
            for one in node.elts
        ]
        whole: ast.expr = parts[0]
        for part in parts[1:]:
            whole = ast.BinOp(whole, ast.Add(), part)
        return ast.fix_missing_locations(ast.copy_location(whole, node))


def _is_starred(node: ast.AST) -> bool:
    return isinstance(node, ast.Starred)


def _collected(parts: ast.expr, least: int = 0) -> ast.Call:
    return called("collected", parts, ast.Constant(least))
