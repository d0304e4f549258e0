"""`math.ceil((n - 4) / 2 + 1)`: a quotient of whole numbers that is rounded is a whole quotient.

torch keeps the fraction, of which it knows next to nothing: what is made of such sizes layer by layer,
as audio is, grows longer and longer, and each question about it has all of that in it. Up to 2**53, where
fractions are exact enough to be rounded like this, the quotient is the same number. `CeilToInt` and its
kin are torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeAlias
from unittest.mock import patch

import sympy
from torch.utils._sympy.functions import (
    CeilToInt,
    FloorDiv,
    FloorToInt,
    IntTrueDiv,
    ToFloat,
    TruncToInt,
)

Expr: TypeAlias = Any  # sympy.Expr
Round: TypeAlias = Callable[[Expr, Expr], Expr | None]


@contextmanager
def quotients_whole() -> Iterator[None]:
    """While on, what is rounded is made of whole numbers where it can be."""
    kinds: tuple[tuple[Any, Round], ...] = (
        (CeilToInt, _up),
        (FloorToInt, _down),
        (TruncToInt, _towards_zero),
    )
    with ExitStack() as stack:
        for kind, rounded in kinds:
            evaluated = staticmethod(_evaluated(kind.eval, rounded))
            stack.enter_context(patch.object(kind, "eval", evaluated))
        yield


def _evaluated(plain: Callable[[Expr], Expr | None], rounded: Round) -> Callable[[Expr], Any]:
    def evaluated(number: Expr) -> Expr | None:
        known = plain(number)
        if known is not None:
            return known
        halves = _quotient(number)
        return None if halves is None else rounded(*halves)

    return evaluated


def _up(number: Expr, by: Expr) -> Expr:
    return FloorDiv(number + by - 1, by)


def _down(number: Expr, by: Expr) -> Expr:
    return FloorDiv(number, by)


def _towards_zero(number: Expr, by: Expr) -> Expr | None:
    return FloorDiv(number, by) if number.is_nonnegative else None


def _quotient(number: Expr) -> tuple[Expr, Expr] | None:
    """What is divided by what, both whole, where that is all there is to it."""
    whole, divided, by = sympy.S.Zero, sympy.S.Zero, sympy.S.One
    for term in sympy.Add.make_args(number):
        if isinstance(term, IntTrueDiv) and term.args[1].is_Integer and term.args[1] > 0:
            if by != 1 or divided != 0:  # a sum of fractions is rounded twice
                return None
            divided, by = term.args
        elif isinstance(term, ToFloat):
            whole += term.args[0]
        elif term.is_Float and float(term).is_integer():
            whole += int(term)
        elif term.is_integer and not term.has(sympy.Float):
            whole += term
        else:
            return None
    return divided + whole * by, by
