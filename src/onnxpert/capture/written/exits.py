"""`break`, `continue` and `return` in the middle, said without leaving: what follows goes into the other
side, and a loop that is left early has a flag that stops it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

PREFIX = "_ox_"  # of every name that the rewriting brings in
Statements = list[ast.stmt]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)
_MOST_COPIED = 4000  # nodes: every branch that may be left early doubles what follows it


class UnwritableError(Exception):
    """A function, or what it does with its values, is beyond what can be said as one graph."""


@dataclass(slots=True)
class _Around:
    """The loop that statements stand in, and how it is left."""

    number: int
    breaks: bool = False
    returns: bool = False

    def name(self, what: str) -> str:
        return f"{PREFIX}{what}_{self.number}"


def stop_of(loop: ast.stmt) -> str | None:
    """The flag that ends a loop early, if it has one."""
    found: str | None = getattr(loop, f"{PREFIX}stop", None)
    return found


class Exits:
    """The statements of functions, rewritten."""

    def __init__(self, numbers: Iterator[int]) -> None:
        self._numbers = numbers
        self._copied = 0

    def function(self, body: Statements) -> Statements:
        end = ast.copy_location(ast.Return(ast.Constant(None)), body[-1])
        return self._tail([*body, ast.fix_missing_locations(end)], None)

    def _tail(self, statements: Statements, around: _Around | None) -> Statements:
        done: Statements = []
        for place, one in enumerate(statements):
            rest = statements[place + 1 :]
            if isinstance(one, (ast.Break, ast.Continue, ast.Return)):
                return done + _left(one, around)
            if isinstance(one, ast.Raise):
                return [*done, one]
            if isinstance(one, _LOOPS):
                loop, after = self._loop(one)
                done += loop
                if after:
                    return done + self._tail([*after, *rest], around)
            elif isinstance(one, ast.If):
                if _exits(one, around is not None):
                    return [*done, self._parted(one, rest, around)]
                one.body = self._tail(one.body, around)
                one.orelse = self._tail(one.orelse, around)
                done.append(one)
            elif isinstance(one, (ast.With, ast.Try)):
                if self._inner(one, rest, around):
                    return [*done, one]
                done.append(one)
            else:
                done.append(one)
        return done

    def _inner(self, one: ast.With | ast.Try, rest: Statements, around: _Around | None) -> bool:
        """Whether nothing comes after a statement that holds others."""
        leaves = _exits(one, around is not None)
        if isinstance(one, ast.With):
            ends = _always(one.body)
            if leaves and rest and not ends:
                raise UnwritableError("a block is left early, and not always")
            one.body = self._tail(one.body, around)
            return leaves and ends
        if leaves and around is not None:
            raise UnwritableError("`try` in a loop is left early")
        if leaves:  # in a function: what returns, returns
            return False
        for part in (one.body, one.orelse, one.finalbody, *(h.body for h in one.handlers)):
            part[:] = self._tail(part, around)
        return False

    def _parted(self, one: ast.If, rest: Statements, around: _Around | None) -> ast.If:
        """A branch that may be left early: what follows is only done on the sides that go on."""
        sides = []
        for side in (one.body, one.orelse):
            follows = [] if _always(side) else self._copies(rest)
            sides.append(self._tail([*side, *follows], around))
        nothing = ast.copy_location(ast.Pass(), one)
        one.body, one.orelse = (side or [nothing] for side in sides)
        return one

    def _copies(self, rest: Statements) -> Statements:
        self._copied += sum(1 for one in rest for _ in ast.walk(one))
        if self._copied > _MOST_COPIED:
            raise UnwritableError("the function is left early in too many places")
        return copy.deepcopy(rest)

    def _loop(self, loop: ast.stmt) -> tuple[Statements, Statements]:
        """The loop with its flags before it, and what is to be asked after it."""
        assert isinstance(loop, _LOOPS)
        around = _Around(next(self._numbers))
        nothing = ast.copy_location(ast.Pass(), loop)
        loop.body = self._tail(loop.body, around) or [nothing]
        otherwise, loop.orelse = loop.orelse, []
        before: Statements = []
        after: Statements = otherwise
        if around.breaks:
            before.append(_assigned(around.name("stop"), ast.Constant(False), loop))
            setattr(loop, f"{PREFIX}stop", around.name("stop"))
            if otherwise:
                unbroken = ast.UnaryOp(ast.Not(), _loaded(around.name("stop")))
                after = [ast.If(unbroken, otherwise, [])]
        if around.returns:
            before.append(_assigned(around.name("left"), ast.Constant(False), loop))
            given = ast.Return(_loaded(around.name("given")))
            after = [ast.If(_loaded(around.name("left")), [given], []), *after]
        for one in after:
            ast.copy_location(one, loop)
            ast.fix_missing_locations(one)
        return [*before, loop], after


def _left(one: ast.stmt, around: _Around | None) -> Statements:
    if around is None:
        return [one]
    if isinstance(one, ast.Continue):
        return []
    around.breaks = True
    stop = _assigned(around.name("stop"), ast.Constant(True), one)
    if isinstance(one, ast.Break):
        return [stop]
    assert isinstance(one, ast.Return)
    around.returns = True
    value = one.value or ast.Constant(None)
    return [
        _assigned(around.name("given"), value, one),
        _assigned(around.name("left"), ast.Constant(True), one),
        stop,
    ]


def _assigned(name: str, value: ast.expr, at: ast.AST) -> ast.stmt:
    made = ast.Assign([ast.Name(name, ast.Store())], value)
    return ast.fix_missing_locations(ast.copy_location(made, at))


def _loaded(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _exits(one: ast.AST, in_loop: bool) -> bool:
    """Whether something in there leaves the loop around, or the function."""
    if isinstance(one, ast.Return):
        return True
    if isinstance(one, (ast.Break, ast.Continue)):
        return in_loop
    if isinstance(one, _FUNCTIONS):
        return False
    inner = False if isinstance(one, _LOOPS) else in_loop
    return any(_exits(child, inner) for child in ast.iter_child_nodes(one))


def _always(statements: Sequence[ast.stmt]) -> bool:
    """Whether nothing that follows is reached."""
    if not statements:
        return False
    last = statements[-1]
    if isinstance(last, ast.If):
        return _always(last.body) and _always(last.orelse)
    if isinstance(last, ast.With):
        return _always(last.body)
    return isinstance(last, (ast.Return, ast.Break, ast.Continue, ast.Raise))
