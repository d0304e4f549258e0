"""`match` as a chain of `if`, where its cases ask what a condition can say: for a value, a type, a name."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from onnxpert.capture.written.leaving import PREFIX, loaded

Names = list[tuple[str, ast.expr]]  # what a case calls the things that it matched


class _BeyondError(Exception):
    """A pattern that looks into a thing."""


class Matching(ast.NodeTransformer):
    """Others stay as they are."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers

    def visit_Match(self, node: ast.Match) -> Any:
        self.generic_visit(node)
        name = f"{PREFIX}subject_{next(self._numbers)}"
        many = isinstance(node.subject, ast.Tuple) and not any(
            isinstance(one, ast.Starred) for one in node.subject.elts
        )
        parts = node.subject.elts if many and isinstance(node.subject, ast.Tuple) else []
        names = [f"{name}_{place}" for place in range(len(parts))]
        subject: ast.expr = (
            ast.Tuple([loaded(one) for one in names], ast.Load()) if many else loaded(name)
        )
        try:
            chain = _chain(subject, node.cases)
        except _BeyondError:
            return node
        given = zip(names, parts, strict=True) if many else [(name, node.subject)]
        held = [_assigned(one, value) for one, value in given]
        for one in held:
            ast.copy_location(one, node)
        return [ast.fix_missing_locations(one) for one in (*held, *chain)]


def _chain(subject: ast.expr, cases: list[ast.match_case]) -> list[ast.stmt]:
    if not cases:
        return []
    first, *rest = cases
    test, names = _asked(subject, first.pattern)
    bound = [_assigned(name, value) for name, value in names]
    before: list[ast.stmt] = []
    if first.guard is not None and bound:  # which may ask for the names
        before = [ast.If(test, bound, [])] if test is not None else bound
        bound = []
    tests = [one for one in (test, first.guard) if one is not None]
    made = [*bound, *first.body]
    if tests:
        asked = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
        made = [*before, ast.If(asked, made, _chain(subject, rest))]
    for one in made:
        if not hasattr(one, "lineno"):
            ast.copy_location(one, first.pattern)
    return made


def _asked(subject: ast.expr, pattern: ast.pattern) -> tuple[ast.expr | None, Names]:
    """Whether a pattern fits, None where it always does, and the names it gives."""
    match pattern:
        case ast.MatchAs(inner, name):
            test, names = (None, []) if inner is None else _asked(subject, inner)
            return test, [*names, (name, subject)] if name is not None else names
        case ast.MatchClass(cls, patterns, [], []) if _is_of_itself(cls, patterns):
            names = [name for one in patterns for name in _asked(subject, one)[1]]
            return ast.Call(loaded("isinstance"), [subject, cls], []), names
        case ast.MatchOr(patterns):
            return _either(subject, patterns), []
        case ast.MatchSequence(patterns) if _is_alike(subject, patterns):
            assert isinstance(subject, ast.Tuple)
            return _all(subject.elts, patterns)
    return _compared(subject, pattern), []


def _compared(subject: ast.expr, pattern: ast.pattern) -> ast.expr:
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(subject, [ast.Eq()], [pattern.value])
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(subject, [ast.Is()], [ast.Constant(pattern.value)])
    raise _BeyondError


def _is_of_itself(cls: ast.expr, patterns: list[ast.pattern]) -> bool:
    """`int()`, `Some()` and `int(k)`, where `k` is the number itself."""
    if not patterns:
        return True
    named = isinstance(patterns[0], ast.MatchAs) and patterns[0].pattern is None
    return named and isinstance(cls, ast.Name) and cls.id in ("int", "float", "bool", "str")


def _is_alike(subject: ast.expr, patterns: list[ast.pattern]) -> bool:
    starred = any(isinstance(one, ast.MatchStar) for one in patterns)
    return isinstance(subject, ast.Tuple) and not starred and len(patterns) == len(subject.elts)


def _either(subject: ast.expr, patterns: list[ast.pattern]) -> ast.expr | None:
    found = [_asked(subject, one) for one in patterns]
    if any(names for _, names in found):
        raise _BeyondError
    tests = [test for test, _ in found if test is not None]
    return ast.BoolOp(ast.Or(), tests) if len(tests) == len(found) else None


def _all(subjects: list[ast.expr], patterns: list[ast.pattern]) -> tuple[ast.expr | None, Names]:
    found = [_asked(one, pattern) for one, pattern in zip(subjects, patterns, strict=True)]
    tests = [test for test, _ in found if test is not None]
    names = [name for _, each in found for name in each]
    if not tests:
        return None, names
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests), names


def _assigned(name: str, value: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], value)
