"""Conditions on sizes, worked out as sympy would."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import sympy
from torch.utils._sympy.functions import (
    FloatTrueDiv,
    FloorDiv,
    IntTrueDiv,
    Max,
    Mod,
    OpaqueUnaryFn_exp,
    OpaqueUnaryFn_sqrt,
    PowByNatural,
    RoundToInt,
    ToFloat,
    TruncToInt,
)

from onnxpert.core import size_conditions
from onnxpert.core.size_conditions import holding, holds

n, k = sympy.symbols("n k", integer=True, positive=True)
CONDITIONS = (
    sympy.Ne(FloorDiv(n, 40), FloorDiv(n + 16, 40), evaluate=False),
    sympy.Eq(Mod(n, 8), 0, evaluate=False),
    sympy.Lt(3 * n - k, 7, evaluate=False),
    sympy.And(sympy.Gt(n, 4), sympy.Le(Max(n, k), 60)),
    sympy.Eq(TruncToInt(IntTrueDiv(n, 3)) + 1, FloorDiv(n + 3, 3), evaluate=False),
    sympy.Gt(TruncToInt(FloatTrueDiv(ToFloat(n), 1.5) * 2.0), ToFloat(n) + 9, evaluate=False),
    sympy.Eq(RoundToInt(FloatTrueDiv(ToFloat(n), 2.0)), FloorDiv(n, 2), evaluate=False),
    sympy.Ge(OpaqueUnaryFn_sqrt(n), 5, evaluate=False),
    sympy.Gt(n**2 - 3 * n * k, 40, evaluate=False),
    sympy.Gt(k / n, 2, evaluate=False),
    sympy.Lt(PowByNatural(n, 3) * FloorDiv(n, 2), 1000 * n**2, evaluate=False),
    sympy.Lt(
        OpaqueUnaryFn_exp(IntTrueDiv(n, 9)), 3 * n, evaluate=False
    ),  # not among those on arrays
)


@pytest.mark.parametrize("condition", CONDITIONS, ids=str)
def test_one_by_one_and_all_at_once(condition: Any) -> None:
    sizes = np.arange(1, 100)
    told = [condition.xreplace({n: sympy.Integer(size), k: sympy.Integer(5)}) for size in sizes]
    known = [bool(each) for each in told]
    assert [holds(condition, {n: int(size), k: 5}) for size in sizes] == known
    assert holding(condition, {n: sizes, k: 5}).tolist() == known


def test_powers_are_worked_out_for_all_sizes_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_by_one(function: Any) -> Any:
        raise AssertionError(function)

    monkeypatch.setattr(size_conditions, "_known_to_sympy", one_by_one)
    condition = sympy.Eq(FloorDiv(n**2 * k, n), n * k, evaluate=False)
    assert holding(condition, {n: np.arange(1, 4097), k: 5}).all()


def test_what_makes_no_sense_is_not_known() -> None:
    condition = sympy.Eq(FloorDiv(n, n - 3, evaluate=False), 2, evaluate=False)
    assert holds(condition, {n: 3}) is None
    assert holds(condition, {k: 3}) is None


def test_a_part_that_comes_often_is_worked_out_once() -> None:
    calls: list[int] = []

    class Counted(sympy.Function):  # type: ignore[misc]
        @classmethod
        def eval(cls, number: Any) -> Any:
            if not number.is_Integer:
                return None
            calls.append(int(number))
            return number

    part = Counted(n)
    assert holds(
        sympy.Lt(part + 2 * k, FloorDiv(part, 2) + 3 * part + k, evaluate=False), {n: 3, k: 1}
    )
    assert calls == [3]
