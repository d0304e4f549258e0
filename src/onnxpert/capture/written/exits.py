"""`break`, `continue`, `return` and a `raise` that is caught, in the middle, said without leaving: what
follows goes into the other side, and a loop or a `try` that is left early has a flag that says so."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Sequence

from onnxpert.capture.written.leaving import PREFIX, Around, Statements, assigned, loaded
from onnxpert.capture.written.tries import (
    handled,
    hoisted,
    is_plain,
    is_risky,
    is_uncertain,
    left_by_error,
    raised,
    try_around,
    types_of,
)

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While)
_MOST_COPIED = 4000  # nodes: every branch that may be left early doubles what follows it


class UnwritableError(Exception):
    """A function, or what it does with its values, is beyond what can be said as one graph."""


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

    def _tail(self, statements: Statements, around: Around | None) -> Statements:
        done: Statements = []
        for place, one in enumerate(statements):
            rest = statements[place + 1 :]
            if isinstance(one, (ast.Break, ast.Continue, ast.Return)) and not is_risky(one, around):
                return done + _left(one, around)
            if isinstance(one, ast.Raise):
                return done + raised(one, around)
            parts = self._parts(one, around)
            if parts is not None:
                start, after = parts
                done += start
                if after:
                    return done + self._tail([*after, *rest], around)
            elif isinstance(one, ast.If):
                if _exits(one, around):
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

    def _parts(self, one: ast.stmt, around: Around | None) -> tuple[Statements, Statements] | None:
        """A statement with what comes before it, and what is to be asked after it."""
        if isinstance(one, _LOOPS):
            return self._loop(one, around)
        if isinstance(one, ast.Try) and is_plain(one):
            return self._try(one, around)
        if is_risky(one, around):
            return hoisted(one, next(self._numbers))
        return None

    def _try(self, one: ast.Try, around: Around | None) -> tuple[Statements, Statements]:
        here = Around(next(self._numbers), around, caught=types_of(one))
        chain = handled(one, here, always_left=_always(one.body))
        one.body = self._tail(one.body, here) or [ast.copy_location(ast.Pass(), one)]
        flag = assigned(here.name("raised"), ast.Constant(0), one)
        before, after = _flags(here, one)
        return [flag, *before, one], [*after, *chain]

    def _inner(self, one: ast.With | ast.Try, rest: Statements, around: Around | None) -> bool:
        """Whether nothing comes after a statement that holds others."""
        leaves = _exits(one, around)
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

    def _parted(self, one: ast.If, rest: Statements, around: Around | None) -> ast.If:
        """A branch that may be left early: what follows is only done on the sides that go on."""
        sides = []
        only_one = _always(one.body) or _always(one.orelse)
        for side in (one.body, one.orelse):
            follows = [] if _always(side) else rest if only_one else self._copies(rest)
            sides.append(self._tail([*side, *follows], around))
        nothing = ast.copy_location(ast.Pass(), one)
        one.body, one.orelse = (side or [nothing] for side in sides)
        return one

    def _copies(self, rest: Statements) -> Statements:
        self._copied += sum(1 for one in rest for _ in ast.walk(one))
        if self._copied > _MOST_COPIED:
            raise UnwritableError("the function is left early in too many places")
        return copy.deepcopy(rest)

    def _loop(self, loop: ast.stmt, outer: Around | None) -> tuple[Statements, Statements]:
        """The loop with its flags before it, and what is to be asked after it."""
        assert isinstance(loop, _LOOPS)
        around = Around(next(self._numbers), outer)
        nothing = ast.copy_location(ast.Pass(), loop)
        loop.body = self._tail(loop.body, around) or [nothing]
        otherwise, loop.orelse = loop.orelse, []
        before: Statements = []
        after: Statements = otherwise
        if around.breaks:
            before.append(assigned(around.name("stop"), ast.Constant(False), loop))
            setattr(loop, f"{PREFIX}stop", around.name("stop"))
            if otherwise:
                unbroken = ast.UnaryOp(ast.Not(), loaded(around.name("stop")))
                after = [ast.If(unbroken, otherwise, [])]
        if around.returns:
            before.append(assigned(around.name("left"), ast.Constant(False), loop))
            given = ast.Return(loaded(around.name("given")))
            after = [ast.If(loaded(around.name("left")), [given], []), *after]
        if around.raises:
            after = [left_by_error(outer), *after]
        for one in after:
            ast.copy_location(one, loop)
            ast.fix_missing_locations(one)
        return [*before, loop], after


def _left(one: ast.stmt, around: Around | None) -> Statements:
    if around is None:
        return [one]
    is_loop = around.caught is None
    if isinstance(one, ast.Continue):
        around.continues = True
        return [] if is_loop else [assigned(around.name("went"), ast.Constant(True), one)]
    around.breaks = around.breaks or is_loop or isinstance(one, ast.Break)
    stop = assigned(around.name("stop"), ast.Constant(True), one)
    if isinstance(one, ast.Break):
        return [stop]
    assert isinstance(one, ast.Return)
    around.returns = True
    value = one.value or ast.Constant(None)
    return [
        assigned(around.name("given"), value, one),
        assigned(around.name("left"), ast.Constant(True), one),
        *([stop] if is_loop else []),
    ]


def _flags(around: Around, at: ast.AST) -> tuple[Statements, Statements]:
    """How a `try` was left, before and after it."""
    given = ast.Return(loaded(around.name("given")))
    ways: list[tuple[bool, str, ast.stmt]] = [
        (around.returns, "left", given),
        (around.breaks, "stop", ast.Break()),
        (around.continues, "went", ast.Continue()),
    ]
    used = [(around.name(what), way) for is_used, what, way in ways if is_used]
    before = [assigned(name, ast.Constant(False), at) for name, _ in used]
    after: Statements = [ast.If(loaded(name), [way], []) for name, way in used]
    return before, [ast.fix_missing_locations(ast.copy_location(one, at)) for one in after]


def _in_loop(around: Around | None) -> bool:
    while around is not None and around.caught is not None:
        around = around.outer
    return around is not None


def _exits(one: ast.AST, around: Around | None) -> bool:
    """Whether something in there leaves the loop or the `try` around, or the function."""
    return _leaves(one, _in_loop(around), try_around(around) is not None)


def _leaves(one: ast.AST, in_loop: bool, in_try: bool) -> bool:
    if isinstance(one, ast.Return):
        return True
    if isinstance(one, (ast.Break, ast.Continue)):
        return in_loop
    if isinstance(one, ast.Raise):
        return in_try
    if isinstance(one, _FUNCTIONS):
        return False
    if in_try and isinstance(one, ast.stmt) and is_uncertain(one):
        return True
    inner = False if isinstance(one, _LOOPS) else in_loop
    return any(_leaves(child, inner, in_try) for child in ast.iter_child_nodes(one))


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
