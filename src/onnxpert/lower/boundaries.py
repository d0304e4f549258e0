"""Sizes just beyond what the capture assumed: where a model may do something else than its file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import sympy

from onnxpert.core.types import Boundary, Captured, Guard
from onnxpert.lower.symbols import Expr

_MOST = 6
_LARGEST = 4096  # a size beyond this is never tried: the run would cost more than it tells


def boundaries(
    captured: Captured, names: Mapping[Expr, str], environment: Any
) -> tuple[Boundary, ...]:
    """For each assumption on named sizes, the smallest sizes at which it does not hold."""
    if environment is None:
        return ()
    found: dict[tuple[tuple[str, int], ...], Boundary] = {}
    for raw, guard in zip(environment.guards, captured.guards, strict=False):
        expr = environment.replace(raw.expr)
        if not expr.free_symbols or not expr.free_symbols <= names.keys():
            continue
        sizes = _violation(expr, environment)
        if sizes is None:
            continue
        named = {names[symbol]: size for symbol, size in sizes.items()}
        condition = str(expr.xreplace({s: sympy.Symbol(names[s]) for s in expr.free_symbols}))
        told = Guard(condition, tuple(named), guard.location)
        found.setdefault(tuple(sorted(named.items())), Boundary(named, told))
        if len(found) == _MOST:
            break
    return tuple(found.values())


def _violation(expr: Expr, environment: Any) -> dict[Expr, int] | None:
    hints = {symbol: _hint(environment, symbol) for symbol in expr.free_symbols}
    for symbol in sorted(hints, key=str):
        for size in _candidates(expr, hints[symbol]):
            sizes = {**hints, symbol: size}
            if _is_false(expr, sizes):
                return sizes
    return None


def _is_false(expr: Expr, sizes: Mapping[Expr, int]) -> bool:
    try:
        held = expr.xreplace({symbol: sympy.Integer(size) for symbol, size in sizes.items()})
    except (ZeroDivisionError, AssertionError):  # the size makes no sense to the expression
        return False
    return bool(held == sympy.false)


def _candidates(expr: Expr, hint: int) -> Iterator[int]:
    numbers = {abs(int(number)) for number in expr.atoms(sympy.Integer)}
    near = {number + step for number in numbers | {hint} for step in (-1, 0, 1)}
    return iter(sorted(size for size in near | {1, 2, 3, 5, 7} if 1 <= size <= _LARGEST))


def _hint(environment: Any, symbol: Expr) -> int:
    """The example's size; the table of them moved between torch 2.13 and 2.15."""
    for table in ("backed_var_to_val", "var_to_val"):
        values = getattr(environment, table, None)
        if values is not None and symbol in values:
            return int(values[symbol])
    return 2
