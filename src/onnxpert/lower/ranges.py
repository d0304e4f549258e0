"""The sizes that conditions leave a dimension: those of the model's own checks, and of what has to fit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sympy

from onnxpert.core.types import Captured, Location
from onnxpert.lower.symbols import Expr

Condition = tuple[Expr, Location | None]
_MOST = 16  # conditions that are looked at
_LOWEST = 512  # below an example that is larger, the first size that fits is not looked for
_WINDOW = 96  # sizes in a row, one of which fits whatever has to be a multiple of less


def conditions(captured: Captured, environment: Any) -> tuple[Condition, ...]:
    """What has to hold on every way through the model, but for what torch has made ranges of."""
    found = [(one.condition, one.location) for one in captured.preconditions]
    found = [(expr, place) for expr, place in found if expr is not None]
    decided = {branch.condition for branch in captured.branches}  # the file has both sides of it
    elsewhere = getattr(environment, "met_at", {})  # assumed on a way that other sizes take
    for raw, guard in zip(environment.guards, captured.guards, strict=False):
        if not isinstance(raw.expr, sympy.Eq) or not raw.expr.atoms(sympy.Function):
            continue
        if raw.expr in elsewhere:
            continue
        if decided.isdisjoint({str(raw.expr), str(sympy.Not(raw.expr))}):
            found.append((raw.expr, guard.location))
    return tuple((environment.replace(expr), place) for expr, place in found[:_MOST])


def narrowed(
    symbol: Expr, hints: Mapping[Expr, int], held: Sequence[Condition]
) -> tuple[int, int | None, Location | None]:
    """The smallest and the largest size at which everything can hold, and the line that says so."""
    lower, upper, place = 1, None, None
    about = [
        (expr, at)
        for expr, at in held
        if symbol in expr.free_symbols and _is_about(expr, symbol, hints)
    ]
    for expr, at in about:
        low, high = _hull(expr, symbol, hints)
        if low > lower or (high is not None and (upper is None or high < upper)):
            place = at
        lower = max(lower, low)
        upper = high if upper is None else min(upper, high or upper)

    def fits(size: int) -> bool:
        return all(_holds(expr, symbol, hints, size) for expr, _ in about)

    hint = hints.get(symbol)
    if hint is None or upper is None or upper - lower > _WINDOW:
        return lower, upper, place
    # Each end was one condition's: what holds for all of them lies within.
    lower = next((size for size in range(lower, hint) if fits(size)), hint)
    upper = next((size for size in range(upper, hint, -1) if fits(size)), hint)
    return lower, upper, place


def _is_about(expr: Expr, symbol: Expr, hints: Mapping[Expr, int]) -> bool:
    """Whether the condition bounds that size by itself: alone, or in what makes a fixed number.

    A share of two sizes is a fixed number too, but as both grow."""
    if not expr.free_symbols <= hints.keys() or not _holds(expr, symbol, hints, hints[symbol]):
        return False
    if len(expr.free_symbols) == 1:
        return True
    doubled = {one: 2 * size for one, size in hints.items()}
    fixed = isinstance(expr, sympy.Eq) and any(side.is_Integer for side in expr.args)
    return fixed and not _holds(expr, symbol, doubled, doubled[symbol])


def _hull(expr: Expr, symbol: Expr, hints: Mapping[Expr, int]) -> tuple[int, int | None]:
    def fits(size: int) -> bool:
        return _holds(expr, symbol, hints, size)

    hint = hints[symbol]
    lower = next((size for size in range(1, min(hint, _LOWEST)) if fits(size)), hint)
    far = 4 * max([hint, *_numbers(expr)]) + 64
    if any(fits(size) for size in range(far, far + _WINDOW)):
        return lower, None
    upper, beyond = hint, far
    while beyond - upper > 1:
        middle = (upper + beyond) // 2
        if fits(middle):
            upper = middle
        else:
            beyond = middle
    return lower, upper


def _numbers(expr: Expr) -> Iterator[int]:
    return (abs(int(number)) for number in expr.atoms(sympy.Integer))


def _holds(expr: Expr, symbol: Expr, hints: Mapping[Expr, int], size: int) -> bool:
    values = {one: sympy.Integer(number) for one, number in hints.items()}
    try:
        return bool(expr.xreplace({**values, symbol: sympy.Integer(size)}) == sympy.true)
    except (ZeroDivisionError, AssertionError):  # the size makes no sense to the expression
        return False
