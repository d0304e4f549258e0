"""Which assumption a failed case is beyond of."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import sympy
import torch
from torch import Tensor
from torch.utils._sympy.functions import FloorDiv, IntTrueDiv, TruncToInt

import onnxpert
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
from onnxpert.engine.free_sizes.offers import (
    assumed_equal,
    crossings,
    is_doubtful,
    refused_apart,
    to_be_one,
)

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
    return bool(assumed_equal(loaded, lowered, [Crossed(boundary, row, "told")]))


def test_sizes_of_which_the_same_is_made_are_assumed_equal() -> None:
    assert _told_to_be_equal(sympy.Eq(N, M))
    assert _told_to_be_equal(sympy.Eq(FloorDiv(N, 2), FloorDiv(M, 2)))
    assert not _told_to_be_equal(sympy.Eq(N, 2 * M - 6))
    assert not _told_to_be_equal(sympy.Eq(N, M + sympy.Symbol("k") - 3))
    assert not _told_to_be_equal(sympy.Le(N, M))


def _four_sizes(names: str, spec: DimSpec) -> tuple[Any, Any, dict[str, int]]:
    """Two inputs, their batches and lengths unnamed and equal in the example."""
    x = torch.zeros(2, 6)
    dims = ((0, spec), (1, spec))
    leaves = tuple(InputLeaf(name, x, name, dims) for name in ("x", "mask"))
    axes = (("x", 0), ("x", 1), ("mask", 0), ("mask", 1))
    sizes = dict(zip(names.split(), (2, 6, 2, 6), strict=True))
    symbols = tuple(
        Symbol(name, 1, None, size, (axis,))
        for (name, size), axis in zip(sizes.items(), axes, strict=True)
    )
    return SimpleNamespace(leaves=leaves), SimpleNamespace(symbols=symbols), sizes


def test_all_that_fail_apart_become_one_at_once() -> None:
    loaded, lowered, sizes = _four_sizes("b n c m", DimSpec())

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


def test_what_a_library_views_as_another_s_batch_is_that_batch() -> None:
    loaded, lowered, sizes = _four_sizes("b n c m", DimSpec())
    b, n, c, m = sympy.symbols("b n c m")

    def told(condition: Any) -> list[str]:
        boundary = Boundary({}, Guard("told", tuple("bncm"), None), condition, str(condition))
        row = Row("c=3", "y", sizes | {"c": 3}, Verdict.FAIL)
        found = assumed_equal(loaded, lowered, [Crossed(boundary, row, "told")])
        return [one.first.name + one.second.name for one in found]

    assert told(sympy.Eq(FloorDiv(c * m, b), n)) == ["bc", "nm"]
    assert told(sympy.Eq(c * m, 12)) == []
    assert told(sympy.Eq(FloorDiv(c * m, b), 2 * n)) == []


def test_rows_that_a_mask_may_have_and_nobody_asks_for() -> None:
    """The model takes more of them than there are, and no fewer."""

    def told(names: str, spec: DimSpec, **rows: Verdict) -> list[str]:
        loaded, lowered, sizes = _four_sizes(names, spec)
        tried = [Row("example", "y", sizes, Verdict.PASS)]
        for change, verdict in rows.items():
            name, size = change.rsplit("_", 1)
            tried.append(Row(change, "y", sizes | {name: int(size)}, verdict))
        found = refused_apart(loaded, lowered, Verified(tuple(tried)))
        return [one.first.name + one.second.name for one in found]

    offered, no, yes = DimSpec(asked=False), Verdict.REFUSED, Verdict.PASS
    alike = "batch n batch_1 m"
    assert told(alike, offered, batch_3=no, batch_1_1=no, batch_1_3=yes) == ["batchbatch_1"]
    assert told(alike, offered, batch_3=no, batch_1_1=yes, batch_1_3=yes) == []
    assert told("batch n rows m", offered, batch_3=no, rows_1=no, rows_3=yes) == []
    assert told(alike, DimSpec(), batch_3=no, batch_1_1=no, batch_1_3=yes) == []


class Chosen(torch.nn.Module):
    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return input_ids * attention_mask[torch.arange(input_ids.shape[0])]


class Viewed(torch.nn.Module):
    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        mask = attention_mask.view(input_ids.shape[0], -1)
        return input_ids.cumsum(1) + mask


@pytest.mark.parametrize("model", [Chosen(), Viewed()])
def test_a_mask_has_the_batch_of_what_it_masks(model: torch.nn.Module) -> None:
    args = (torch.rand(2, 6), torch.ones(2, 6))
    report = onnxpert.diagnose(model, args, dynamic_shapes="auto")
    assert report.ok
    assert all("float32[batch, sequence" in one for one in report.inputs)
