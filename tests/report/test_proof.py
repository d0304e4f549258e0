"""The proof's table: one line per comparison while they are few, the worst of each set after."""

import math

from onnxpert.core.types import Row, Verdict
from onnxpert.report import Report
from onnxpert.report.proof import MANY, table


def _rows(count: int, verdict: Verdict = Verdict.PASS, case: str = "example") -> tuple[Row, ...]:
    return tuple(
        Row(case, f"y{at}", {"batch": 2}, verdict, at * 1e-6, at * 1e-3, 1e-3, 1e-5)
        for at in range(count)
    )


def test_few_rows_are_all_shown() -> None:
    shown = table(Report(ok=True, verified=_rows(MANY)))
    assert shown is not None
    assert len(shown.rows) == MANY


def test_many_rows_are_summed_up_per_case() -> None:
    rows = _rows(MANY) + _rows(3, case="batch=1")
    shown = table(Report(ok=True, verified=rows))
    assert shown is not None
    assert [row.texts for row in shown.rows] == [
        ("example", "batch=2", "12 outputs", "1.1e-05", "1.1e-02"),
        ("batch=1", "batch=2", "3 outputs", "2.0e-06", "2.0e-03"),
    ]


def test_a_failure_among_many_keeps_its_row() -> None:
    failed = Row("example", "bad", {"batch": 2}, Verdict.FAIL, 1.0, math.nan, 1e-3, 1e-5, "NaN")
    shown = table(Report(ok=False, verified=(*_rows(MANY), failed)))
    assert shown is not None
    assert [(row.texts[2], row.verdict) for row in shown.rows] == [
        ("bad", Verdict.FAIL),
        ("12 outputs", Verdict.PASS),
    ]


def test_failures_beyond_a_page_are_counted() -> None:
    shown = table(Report(ok=False, verified=_rows(40, Verdict.FAIL)))
    assert shown is not None
    assert (len(shown.rows), shown.left_out) == (MANY, 28)


def test_the_largest_error_is_nan_when_there_is_one() -> None:
    rows = (
        *_rows(MANY),
        Row("example", "n", {"batch": 2}, Verdict.PASS, math.nan, 0.0, 1e-3, 1e-5),
    )
    shown = table(Report(ok=True, verified=rows))
    assert shown is not None
    assert shown.rows[0].texts[3] == "nan"


def test_tolerances_that_differ_have_a_column() -> None:
    rows = (*_rows(1), Row("example", "ids", {"batch": 2}, Verdict.PASS, 0.0, 0.0, 0.0, 0.0))
    shown = table(Report(ok=True, verified=rows))
    assert shown is not None
    assert shown.columns[-1] == "tolerance"
    assert [row.texts[-1] for row in shown.rows] == ["1e-3 rel + 1e-5 abs", "exact"]


def test_nothing_compared_is_no_table() -> None:
    assert table(Report(ok=True)) is None
