"""Which assumption a failed case is beyond of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy
import torch
from torch.utils._sympy.functions import FloorDiv, IntTrueDiv, TruncToInt

from onnxpert.core.types import (
    Boundary,
    Captured,
    Crossed,
    DimSpec,
    Guard,
    InputLeaf,
    Row,
    Symbol,
    Verdict,
    Verified,
)
from onnxpert.engine.offers import assumed_equal, crossings, is_doubtful, to_be_one

N, M = sympy.symbols("n m")


def _crossed(condition: Any) -> list[str]:
    """Of a file that is wrong at 24 and right at 12."""
    boundary = Boundary({}, Guard("told", ("n",), None), condition, str(condition))
    rows = (
        Row("example", "y", {"n": 12}, Verdict.PASS),
        Row("n=24", "y", {"n": 24}, Verdict.FAIL),
    )
    lowered: Any = SimpleNamespace(boundaries=(boundary,))
    return [one.row.case for one in crossings(lowered, Verified(rows))]


def test_what_holds_at_the_example_and_not_there_is_crossed() -> None:
    assert _crossed(sympy.Lt(N, 20)) == ["n=24"]


def test_what_does_not_hold_at_the_example_either_is_of_another_side() -> None:
    assert not _crossed(sympy.Gt(N, 256))
    assert not _crossed(sympy.Ne(N, sympy.Min(256, N), evaluate=False))


def test_what_roundings_decide_within_they_decide_beyond() -> None:
    condition = sympy.Lt(N, 20)
    boundary = Boundary({}, Guard("told", ("n",), None), condition, str(condition))
    within, beyond = (Row(f"n={size}", "y", {"n": size}, Verdict.FAIL) for size in (13, 24))
    example = Row("example", "y", {"n": 12}, Verdict.PASS)
    lowered: Any = SimpleNamespace(boundaries=(boundary,))
    for rows, sway, found in (
        ((example, within, beyond), 1.0, []),
        ((example, within, beyond), None, ["n=24"]),
        ((example, beyond, within), 1.0, ["n=24"]),
    ):
        verified = Verified(rows, sway=sway)
        assert [one.row.case for one in crossings(lowered, verified)] == found


def test_a_length_that_is_divided_by_one_is_no_question_about_small_sizes() -> None:
    """It is asked first, and what follows from the answer holds no more than the answer does."""
    length = TruncToInt(IntTrueDiv(N - 1, 1) + 1.0)
    conditions = sympy.Ne(length, FloorDiv(N, 8) * 8), sympy.Ne(FloorDiv(N, 8), FloorDiv(N + 4, 8))
    first, second = (
        Boundary({}, Guard(str(one), ("n",), None), one, str(one)) for one in conditions
    )
    rows = (
        Row("example", "y", {"n": 12}, Verdict.PASS),
        Row("n=16", "y", {"n": 16}, Verdict.FAIL),
    )
    lowered: Any = SimpleNamespace(boundaries=(first, second))
    assert [one.boundary for one in crossings(lowered, Verified(rows))] == [first]


def test_what_would_be_doubted_is_known_before_it_fails() -> None:
    """A library asked about sizes; its answer may be put to the question once."""
    condition = sympy.Le(N, 20)
    boundary = Boundary({"n": 21}, Guard("told", ("n",), None), condition, "s0 <= 20")
    symbol = Symbol("n", 1, None, 12, (("x", 0),))
    lowered: Any = SimpleNamespace(boundaries=(boundary,), symbols=(symbol,))
    captured = Captured(None, (), "recorder", left_open=True)

    def doubtful(size: int, doubted: frozenset[str] = frozenset()) -> bool:
        loaded: Any = SimpleNamespace(leaves=(), thorough=False, as_written=False, doubted=doubted)
        return is_doubtful(captured, loaded, lowered, {"n": size})

    assert doubtful(21)
    assert not doubtful(20)
    assert not doubtful(21, frozenset({"s0 <= 20"}))


def _two_sizes() -> tuple[Any, Any]:
    """A model and a file with two unnamed sizes on one axis, both 6 in the example."""
    x = torch.zeros(2, 6)
    leaves = tuple(InputLeaf(name, x, name, ((1, DimSpec()),)) for name in ("x", "mask"))
    symbols = (Symbol("n", 1, None, 6, (("x", 1),)), Symbol("m", 1, None, 6, (("mask", 1),)))
    return SimpleNamespace(leaves=leaves), SimpleNamespace(symbols=symbols)


def _told_to_be_equal(condition: Any) -> bool:
    loaded, lowered = _two_sizes()
    boundary = Boundary({}, Guard("told", ("n", "m"), None), condition, str(condition))
    row = Row("n=7", "y", {"n": 7, "m": 6}, Verdict.FAIL)
    return assumed_equal(loaded, lowered, [Crossed(boundary, row, "told")]) is not None


def test_sizes_of_which_the_same_is_made_are_assumed_equal() -> None:
    assert _told_to_be_equal(sympy.Eq(N, M))
    assert _told_to_be_equal(sympy.Eq(FloorDiv(N, 2), FloorDiv(M, 2)))
    assert not _told_to_be_equal(sympy.Eq(N, 2 * M - 6))
    assert not _told_to_be_equal(sympy.Eq(N, M + sympy.Symbol("k") - 3))
    assert not _told_to_be_equal(sympy.Le(N, M))


def test_all_that_fail_apart_become_one_at_once() -> None:
    """Two inputs, their batches and lengths unnamed and equal in the example."""
    x = torch.zeros(2, 6)
    dims = ((0, DimSpec()), (1, DimSpec()))
    leaves = tuple(InputLeaf(name, x, name, dims) for name in ("x", "mask"))
    sizes = {"b": 2, "n": 6, "c": 2, "m": 6}
    axes = {"b": ("x", 0), "n": ("x", 1), "c": ("mask", 0), "m": ("mask", 1)}
    symbols = tuple(Symbol(name, 1, None, size, (axes[name],)) for name, size in sizes.items())
    loaded: Any = SimpleNamespace(leaves=leaves)
    lowered: Any = SimpleNamespace(symbols=symbols)

    def told(*changes: dict[str, int], right: tuple[dict[str, int], ...] = ()) -> list[str]:
        rows = [Row("example", "y", sizes, Verdict.PASS)]
        rows += [Row(str(change), "y", sizes | change, Verdict.PASS) for change in right]
        rows += [Row(str(change), "y", sizes | change, Verdict.FAIL) for change in changes]
        found = to_be_one(loaded, lowered, Verified(tuple(rows)), ())
        return [one.first.name + one.second.name for one in found]

    assert told({"b": 3}, {"m": 1}) == ["bc", "nm"]
    assert told({"b": 3}, {"c": 1}) == ["bc"]
    assert told({"b": 3}, right=({"c": 1},)) == ["bc"]  # a batch of one is like any other
    assert told({"b": 3, "c": 3}) == []
    assert told({"b": 3, "n": 9}) == []  # which of them it is, nobody knows
    assert told({"b": 3, "n": 9}, right=({"n": 7},)) == ["bc"]
    assert told({"b": 3, "n": 9}, right=({"n": 5},)) == []  # it was the other way round
