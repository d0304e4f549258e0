"""`(n := value)` said as an assignment in front of the statement that it stands in."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from typing import Any

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.leaving import PREFIX, loaded


class Naming(ast.NodeTransformer):
    """Where the value is worked out whatever else happens, and after an `and` or an `or`."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._named: list[ast.stmt] = []

    def function(self, node: ast.FunctionDef) -> None:
        node.body = self._block(node.body)

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        return [made for one in statements for made in self._statement(one)]

    def _statement(self, one: ast.stmt) -> list[ast.stmt]:
        outer, self._named = self._named, []
        for name, value in ast.iter_fields(one):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(one, name, self._block(value))
            elif isinstance(value, list):
                for each in value:
                    if isinstance(each, (ast.ExceptHandler, ast.match_case)):
                        each.body = self._block(each.body)
                setattr(one, name, [self._expression(each) for each in value])
            else:
                setattr(one, name, self._expression(value))
        named, self._named = self._named, outer
        if named and isinstance(one, ast.While):
            if any(isinstance(part, ast.Continue) for part in ast.walk(one)):
                raise UnwritableError("a loop whose test names a value is gone on with early")
            one.body += copy.deepcopy(named)  # before the test is asked again
        return [*named, one]

    def _expression(self, value: Any) -> Any:
        return self.visit(value) if isinstance(value, ast.expr | ast.withitem) else value

    def visit_NamedExpr(self, node: ast.NamedExpr) -> Any:
        value = self.visit(node.value)
        self._named.append(ast.copy_location(ast.Assign([node.target], value), node))
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node)

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        """`a and (n := f()) > 0`: what comes after `a` is worked out in a branch."""
        node.values[0] = self.visit(node.values[0])
        if not any(map(_names, node.values[1:])):
            return node
        truth = f"{PREFIX}truth_{next(self._numbers)}"
        self._named.append(_assigned(truth, node.values[0]))
        for value in node.values[1:]:
            outer, self._named = self._named, []
            inner = self.visit(value)
            side = [*self._named, _assigned(truth, inner)]
            self._named = outer
            asked: ast.expr = loaded(truth)
            if isinstance(node.op, ast.Or):
                asked = ast.UnaryOp(ast.Not(), asked)
            branch = ast.copy_location(ast.If(asked, side, []), value)
            self._named.append(ast.fix_missing_locations(branch))
        return ast.copy_location(loaded(truth), node)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        _check([node.body, node.orelse])
        node.test = self.visit(node.test)
        return node

    def visit_Compare(self, node: ast.Compare) -> Any:
        _check(node.comparators[1:])
        return self.generic_visit(node)

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        _check([node.body])
        return node

    def generic_visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            _check([node])
            return node
        return super().generic_visit(node)


def _names(part: ast.AST) -> bool:
    return any(isinstance(one, ast.NamedExpr) for one in ast.walk(part))


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, value))


def _check(parts: Sequence[ast.AST]) -> None:
    if any(map(_names, parts)):
        raise UnwritableError("a name is given to a value that is not always worked out")
