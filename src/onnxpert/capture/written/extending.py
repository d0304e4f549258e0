"""`held.extend(parts)` as a loop that appends, where only a run of the file knows how many parts there are."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from onnxpert.capture.written.leaving import PREFIX, assigned, loaded
from onnxpert.capture.written.syntax import called


class Extending(ast.NodeTransformer):
    """What Python itself can go through is put in at once, as before."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers

    def visit_Expr(self, node: ast.Expr) -> Any:
        call = node.value
        if not isinstance(call, ast.Call) or len(call.args) != 1 or call.keywords:
            return node
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "extend":
            return node
        held, (parts,) = call.func.value, call.args
        if not isinstance(held, ast.Name) or isinstance(parts, (ast.Starred, ast.List, ast.Tuple)):
            return node
        more, one = (f"{PREFIX}{what}_{next(self._numbers)}" for what in ("more", "one"))
        append = ast.Call(ast.Attribute(held, "append", ast.Load()), [loaded(one)], [])
        over = called("extended", held, loaded(more))
        loop = ast.For(ast.Name(one, ast.Store()), over, [ast.Expr(append)], [])
        return [assigned(more, parts, node), _placed(loop, node)]


def _placed(loop: ast.stmt, at: ast.stmt) -> ast.stmt:
    return ast.fix_missing_locations(ast.copy_location(loop, at))
