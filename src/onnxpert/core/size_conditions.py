"""Whether a condition on sizes holds: at one choice of them, and at many at once.

Numbers are put in and worked out. sympy would simplify what it is given, and take a thousand times
as long. Its functions on sizes are private to torch; tried on 2.13 and 2.15."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import cache, reduce
from typing import Any, TypeAlias

import numpy as np
import sympy
from numpy.typing import NDArray

Expr: TypeAlias = Any


def holds(condition: Expr, sizes: Mapping[Expr, int]) -> bool | None:
    """None where that is not known: a size is missing, or makes no sense to the condition."""
    try:
        with np.errstate(divide="raise", invalid="raise"):
            return bool(_value(condition, sizes, {}))
    except (ArithmeticError, AssertionError, LookupError):
        return None


def holding(condition: Expr, sizes: Mapping[Expr, Any]) -> NDArray[np.bool_]:
    """Which of many choices it seems to hold at, some sizes an array of them and the others a number;
    where a size makes no sense to it, the answer means nothing."""
    with np.errstate(all="ignore"):
        return np.asarray(_value(condition, sizes, {}), dtype=bool)


def _value(expr: Expr, sizes: Mapping[Expr, Any], done: dict[Expr, Any]) -> Any:
    """`done` is what was worked out already: in a condition, the same part comes many times."""
    if expr not in done:
        done[expr] = _worked_out(expr, sizes, done)
    return done[expr]


def _worked_out(expr: Expr, sizes: Mapping[Expr, Any], done: dict[Expr, Any]) -> Any:
    if expr.is_Symbol:
        return sizes[expr]
    if isinstance(expr, sympy.logic.boolalg.BooleanAtom):
        return bool(expr)
    if not expr.args:  # a number; to ask a long expression whether it is one takes as long
        return int(expr) if expr.is_Integer else float(expr)
    parts = [_value(part, sizes, done) for part in expr.args]
    apply = _on_arrays().get(expr.func)
    if apply is None:
        return np.vectorize(_known_to_sympy(expr.func), otypes=[float])(*parts)
    return apply(*parts) if len(parts) == 1 else reduce(apply, parts)


def _known_to_sympy(function: Any) -> Callable[..., float]:
    def value(*numbers: Any) -> float:
        try:
            return float(function(*map(sympy.sympify, numbers)))
        except (ZeroDivisionError, AssertionError, TypeError, ValueError):
            return math.nan

    return value


@cache
def _on_arrays() -> dict[Any, Callable[..., Any]]:
    from torch.utils._sympy import functions

    return {
        sympy.Add: operator.add,
        sympy.Mul: operator.mul,
        sympy.Pow: np.float_power,  # whole numbers have no negative powers in numpy
        sympy.Eq: operator.eq,
        sympy.Ne: operator.ne,
        sympy.Le: operator.le,
        sympy.Ge: operator.ge,
        sympy.Lt: operator.lt,
        sympy.Gt: operator.gt,
        sympy.And: np.logical_and,
        sympy.Or: np.logical_or,
        sympy.Not: np.logical_not,
        functions.Max: np.maximum,
        functions.Min: np.minimum,
        functions.PowByNatural: np.float_power,
        functions.FloatPow: np.float_power,
        functions.OpaqueUnaryFn_sqrt: np.sqrt,
        functions.OpaqueUnaryFn_log2: np.log2,
        functions.FloorDiv: np.floor_divide,
        functions.CleanDiv: np.floor_divide,
        functions.Mod: np.remainder,
        functions.PythonMod: np.remainder,
        functions.IntTrueDiv: np.true_divide,
        functions.FloatTrueDiv: np.true_divide,
        functions.RoundToInt: np.rint,
        functions.ToFloat: np.float64,
        functions.TruncToInt: np.trunc,
        functions.FloorToInt: np.floor,
        functions.CeilToInt: np.ceil,
    }
