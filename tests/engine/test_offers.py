"""Which assumption a failed case is beyond of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import sympy

from onnxpert.core.types import Boundary, Guard, Row, Verdict, Verified
from onnxpert.engine.offers import crossings

N = sympy.Symbol("n")


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
