"""`try` as a block that is left early: what raises sets a flag, and the handlers are branches that follow.

An error that the data decide has no place in a file; but where a `try` catches it, it is a condition like
any other: that of the `if` in which it is raised, or that a number lies beyond the `table[k]` it is for."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator

from onnxpert.capture.written.leaving import PREFIX, Around, Statements, assigned, loaded
from onnxpert.capture.written.syntax import called, function_of, is_choice

_HARMLESS = frozenset(
    {"min", "max", "abs", "int", "float", "len", "round", "bool", "divmod", "pow", "sum"}
)
_CHANGES = ("append", "extend", "insert", "pop", "remove", "clear", "update", "setdefault", "add")
# Of what is worked out on one way only, nobody knows afterwards whether it would raise.
_OTHERWISE = (ast.BoolOp, ast.IfExp, ast.Lambda, ast.NamedExpr, ast.Yield, ast.Await)
_DOUBT = f"{PREFIX}doubt"


def is_plain(one: ast.Try) -> bool:
    """Whether its handlers may as well stand behind it."""
    if one.finalbody or all(isinstance(each.body[-1], ast.Raise) for each in one.handlers):
        return False
    return not any(_needs_error(part, each) for each in one.handlers for part in _inside(each))


def _inside(handler: ast.ExceptHandler) -> Iterator[ast.AST]:
    for one in handler.body:
        yield from ast.walk(one)


def _needs_error(part: ast.AST, handler: ast.ExceptHandler) -> bool:
    if isinstance(part, ast.Raise):
        return part.exc is None
    if isinstance(part, ast.Attribute):
        return part.attr in ("exc_info", "print_exc", "format_exc", "exception")
    return isinstance(part, ast.Name) and part.id == handler.name


def types_of(one: ast.Try) -> ast.expr:
    """What each handler catches."""
    kinds = [each.type or ast.Name("BaseException", ast.Load()) for each in one.handlers]
    return ast.Tuple(kinds, ast.Load())


def handled(one: ast.Try, here: Around, *, always_left: bool) -> Statements:
    """The handlers as branches; the `try` itself is left with the flag. What is always left, by an
    error or otherwise, goes on in a handler or not at all."""
    flag = here.name("raised")
    chain = one.orelse
    for number, handler in reversed(list(enumerate(one.handlers, 1))):
        body, handler.name = handler.body, None
        handler.body = [assigned(flag, ast.Constant(number), handler)]
        if always_left and not chain:
            chain = body
            continue
        test = ast.Compare(loaded(flag), [ast.Eq()], [ast.Constant(number)])
        branch = ast.If(test, body, chain)
        chain = [ast.fix_missing_locations(ast.copy_location(branch, handler))]
    one.orelse = []
    return chain


def try_around(around: Around | None) -> Around | None:
    while around is not None and around.caught is None:
        around = around.outer
    return around


def raised(one: ast.Raise, around: Around | None) -> Statements:
    """A `raise`: to the `try` around it, if there is one."""
    home = try_around(around)
    kind = one.exc.func if isinstance(one.exc, ast.Call) else one.exc
    if home is None or around is None or home.caught is None or not isinstance(kind, ast.Name):
        return [one]
    error = ast.Constant(None) if kind.id == _DOUBT else kind
    by = called("caught_by", error, copy.deepcopy(home.caught))
    flag = [] if kind.id == PREFIX else [assigned(home.name("raised"), by, one)]
    return flag if around is home else [*flag, *_stopped(one, around)]


def _stopped(one: ast.Raise, loop: Around) -> Statements:
    loop.breaks = loop.raises = True
    return [assigned(loop.name("stop"), ast.Constant(True), one)]


def left_by_error(around: Around | None) -> ast.stmt:
    """Behind a loop that an error ended: it goes on to the `try`."""
    home = try_around(around)
    assert home is not None
    return ast.If(loaded(home.name("raised")), [ast.Raise(loaded(PREFIX))], [])


# ---- what may raise ------------------------------------------------------------------------


def is_risky(one: ast.stmt, around: Around | None) -> bool:
    return try_around(around) is not None and is_uncertain(one)


def is_uncertain(one: ast.stmt) -> bool:
    """Whether the number in a `table[k]` may be beyond it, and nothing else is done before that shows."""
    value = _value(one)
    if value is None or not any(is_choice(part) for part in ast.walk(value)):
        return False
    return not any(isinstance(part, _OTHERWISE) or _does(part) for part in ast.walk(value))


def _value(one: ast.stmt) -> ast.expr | None:
    if isinstance(one, (ast.Assign, ast.AugAssign, ast.Return)):
        return one.value
    if isinstance(one, ast.Expr) and (call := _filling(one.value)) is not None:
        return call.args[0]
    return one.test if isinstance(one, ast.If) else None


def _filling(value: ast.expr) -> ast.Call | None:
    """`rows.append(...)`"""
    if not isinstance(value, ast.Call) or len(value.args) != 1 or value.keywords:
        return None
    plain = isinstance(value.func, ast.Attribute) and isinstance(value.func.value, ast.Name)
    return value if plain else None


def _does(part: ast.AST) -> bool:
    """A call that may do more than compute."""
    if not isinstance(part, ast.Call):
        return False
    if isinstance(part.func, ast.Name):
        return part.func.id not in _HARMLESS
    if isinstance(part.func, ast.Attribute):
        own = isinstance(part.func.value, ast.Name) and part.func.value.id == "self"
        return own or part.func.attr in _CHANGES or part.func.attr.endswith("_")
    return not isinstance(part.func, ast.Subscript)


def hoisted(one: ast.stmt, number: int) -> tuple[Statements, Statements]:
    """The value first, then whether that raised, then what is done with it."""
    name, value = f"{PREFIX}value_{number}", _value(one)
    assert value is not None
    first = assigned(name, called("tried", function_of(value)), one)
    if isinstance(one, ast.If):
        one.test = loaded(name)
    elif isinstance(one, ast.Expr):
        one.value.args = [loaded(name)]  # type: ignore[attr-defined]
    else:
        one.value = loaded(name)  # type: ignore[attr-defined]
    doubt = ast.If(called("doubted"), [ast.Raise(loaded(_DOUBT))], [])
    ast.fix_missing_locations(ast.copy_location(doubt, one))
    return [first], [doubt, one]
