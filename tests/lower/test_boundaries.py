"""Sizes that fit what a capture assumed, found without trying each of thousands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import sympy
from torch.utils._sympy.functions import FloorDiv, Mod

from onnxpert.core.types import Captured
from onnxpert.lower import boundaries
from onnxpert.lower.boundaries import boundaries as sizes_beyond
from onnxpert.lower.boundaries import witnesses

N = sympy.Symbol("s0", integer=True, positive=True)
M = sympy.Symbol("s1", integer=True, positive=True)


def _witnesses(example: Mapping[Any, int], *assumed: Any) -> Sequence[Mapping[str, int]]:
    guards = [SimpleNamespace(expr=expr) for expr in assumed]
    environment = SimpleNamespace(
        guards=guards, replace=lambda expr: expr, backed_var_to_val=dict(example)
    )
    captured = Captured(None, (), "made", guards=tuple(guards))  # type: ignore[arg-type]
    return witnesses(captured, {N: "n", M: "m"}, environment)


def test_the_next_multiples() -> None:
    assert _witnesses({N: 14}, sympy.Eq(Mod(N, 7), 0)) == ({"n": 21}, {"n": 7})


def test_all_that_is_assumed_holds_there() -> None:
    both = sympy.Eq(Mod(N, 7), 0), N < 20
    assert _witnesses({N: 14, M: 3}, *both, M > 2) == ({"n": 7},)


def test_sizes_that_make_no_sense_to_a_condition() -> None:
    assert _witnesses({N: 9}, FloorDiv(100, N - 8) > 20) == ({"n": 10},)


def test_thousands_are_looked_at_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    whole = boundaries.holds

    def counted(*given: Any) -> bool | None:
        asked.append(given)
        return whole(*given)

    monkeypatch.setattr(boundaries, "holds", counted)
    assert _witnesses({N: 2400}, sympy.Eq(FloorDiv(N, 5), 480), N > 2400 - 3) == ({"n": 2401},)
    assert _witnesses({N: 2400}, sympy.Eq(Mod(N, 2400), 0)) == ({"n": 4800},)
    assert len(asked) < 10


def test_what_is_beyond_a_limit_of_the_side_that_the_example_takes() -> None:
    """The example takes the other side of `n > 2048`: it is tried at its limit, and no nearer."""
    expr = N > 2048
    guard = SimpleNamespace(expr=expr, location=None)
    environment = SimpleNamespace(
        guards=[guard],
        replace=lambda expr: expr,
        backed_var_to_val={N: 12, M: 3},
        met_at={expr: {N: 2049, M: 3}},
    )
    captured = Captured(None, (), "made", guards=(guard,))  # type: ignore[arg-type]
    found = sizes_beyond(captured, {N: "n", M: "m"}, environment)
    assert [boundary.sizes for boundary in found] == [{"n": 1}, {"n": 2048}]
