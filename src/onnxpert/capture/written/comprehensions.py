"""Comprehensions and generators as loops, which the rest of the rewriting knows."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from onnxpert.capture.written.leaving import PREFIX, loaded
from onnxpert.capture.written.syntax import define, is_first, own

MADE = f"{PREFIX}made"  # how the names of the functions begin that comprehensions become
_OVER = f"{PREFIX}over"


class Comprehensions(ast.NodeTransformer):
    """`[f(x) for x in xs]` as a function with a loop, defined in front of the statement."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._made: list[ast.stmt] = []

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        outer, self._made = self._made, []
        if any(isinstance(part, ast.Yield) for part in own(node.body)):
            _listed(node)
        node.body = self._block(node.body)
        self._made = outer
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        return node  # there is no place for a statement in front of what it holds

    def _block(self, statements: Sequence[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for one in statements:
            before, self._made = self._made, []
            if isinstance(one, ast.While):  # the test is a function of its own by and by
                made = one
                made.body = self._block(one.body)
                made.orelse = self._block(one.orelse)
            else:
                made = self._statement(one)
            done += [*self._made, made]
            self._made = before
        return done

    def _statement(self, one: ast.stmt) -> Any:
        for name, value in ast.iter_fields(one):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(one, name, self._block(value))
            elif isinstance(value, list) and value and isinstance(value[0], ast.ExceptHandler):
                for handler in value:
                    handler.body = self._block(handler.body)
            elif isinstance(value, (ast.AST, list)) and not isinstance(one, ast.FunctionDef):
                many = value if isinstance(value, list) else [value]
                new = [self.visit(each) if isinstance(each, ast.AST) else each for each in many]
                setattr(one, name, new if isinstance(value, list) else new[0])
        return self.visit_FunctionDef(one) if isinstance(one, ast.FunctionDef) else one

    def visit_ListComp(self, node: ast.ListComp) -> Any:
        return self._function(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Any:
        return self._function(node)

    def visit_Call(self, node: ast.Call) -> Any:
        return self._first(node) if is_first(node) else self.generic_visit(node)

    def _function(self, node: Any) -> ast.expr:
        items = f"{PREFIX}items"
        add = ast.Call(ast.Attribute(loaded(items), "append", ast.Load()), [node.elt], [])
        body = [
            ast.Assign([ast.Name(items, ast.Store())], ast.List([], ast.Load())),
            _through(node, ast.Expr(add)),
            ast.Return(loaded(items)),
        ]
        return self._called(node, body)

    def _first(self, node: ast.Call) -> ast.expr:
        """`next((f(x) for x in xs), other)`."""
        generator, other = node.args
        assert isinstance(generator, ast.GeneratorExp)
        none = f"{PREFIX}other"
        body = [_through(generator, ast.Return(generator.elt)), ast.Return(loaded(none))]
        return self._called(generator, body, {none: self.visit(other)})

    def _called(
        self, node: Any, body: list[ast.stmt], given: Mapping[str, ast.expr] | None = None
    ) -> ast.expr:
        """A function in front of the statement, and its call."""
        name, more = f"{MADE}_{next(self._numbers)}", given or {}
        made = define(name, body, [_OVER, *more])
        # In the order of Python: what is gone through is worked out where the brackets stand.
        call = ast.Call(loaded(name), [self.visit(node.generators[0].iter), *more.values()], [])
        for part in (made, call):
            ast.fix_missing_locations(ast.copy_location(part, node))
        inner, self._made = self._made, []
        self.visit_FunctionDef(made)
        self._made = [*inner, made]
        return call


def _through(node: Any, inner: ast.stmt) -> ast.stmt:
    """What is done for each, in the loops and under the conditions of a comprehension."""
    for one in reversed(node.generators):
        for condition in reversed(one.ifs):
            inner = ast.If(condition, [inner], [])
        over = loaded(_OVER) if one is node.generators[0] else one.iter
        inner = ast.For(one.target, over, [inner], [])
    return inner


def _listed(node: ast.FunctionDef) -> None:
    """A generator as a function that gives a list: what it yields is all used."""
    items = f"{PREFIX}yielded"

    class Yields(ast.NodeTransformer):
        def visit_FunctionDef(self, inner: ast.FunctionDef) -> Any:
            return inner

        def visit_Lambda(self, inner: ast.Lambda) -> Any:
            return inner

        def visit_Return(self, one: ast.Return) -> Any:
            return ast.copy_location(ast.Return(loaded(items)), one)

        def visit_Yield(self, one: ast.Yield) -> Any:
            value = one.value or ast.Constant(None)
            add = ast.Attribute(loaded(items), "append", ast.Load())
            return ast.copy_location(ast.Call(add, [value], []), one)

    body = [Yields().visit(one) for one in node.body]
    start = ast.Assign([ast.Name(items, ast.Store())], ast.List([], ast.Load()))
    node.body = [start, *body, ast.Return(loaded(items))]
    for one in (start, node.body[-1]):
        ast.copy_location(one, node)
    ast.fix_missing_locations(node)
