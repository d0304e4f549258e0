"""The proof as a compact table: a row per comparison, or per input set when there are many."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from onnxpert.core.types import Row, Verdict
from onnxpert.report import words
from onnxpert.report.report import Report

MANY = 12  # comparisons; more than this are summed up, one line per input set


@dataclass(frozen=True, slots=True)
class Cell:
    """A row of the printed table, in the order of `Table.columns`."""

    texts: tuple[str, ...]
    verdict: Verdict
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """What is printed: a heading, the columns that differ from row to row, the rows."""

    heading: str
    columns: tuple[str, ...]
    rows: tuple[Cell, ...]
    left_out: int = 0  # failed rows beyond the first `MANY`

    @property
    def numeric(self) -> frozenset[int]:
        return frozenset(at for at, name in enumerate(self.columns) if name.startswith("max"))


def table(report: Report) -> Table | None:
    """The proof of a report, or None where nothing was compared."""
    rows = report.verified
    if not rows:
        return None
    left_out = 0
    if len(rows) > MANY:
        rows, left_out = _summed_up(rows)
    tolerances = {words.tolerance(row.rtol, row.atol) for row in rows if row.rtol is not None}
    shared = tolerances.pop() if len(tolerances) == 1 else ""
    columns = _columns(rows, with_tolerance=bool(tolerances))
    cells = (Cell(tuple(text(row) for _, text in columns), row.verdict, row.detail) for row in rows)
    return Table(
        _heading(report, shared), tuple(name for name, _ in columns), tuple(cells), left_out
    )


def _heading(report: Report, shared: str) -> str:
    pair = (
        f"{report.runtime or report.target or 'the runtime'} against {report.model or 'the model'}"
    )
    if report.quantised:
        pair += ", the float32 file before it was quantised"
    return pair + (f", tolerance {shared}" if shared else "")


def _columns(
    rows: Iterable[Row], *, with_tolerance: bool
) -> tuple[tuple[str, Callable[[Row], str]], ...]:
    """Name and text of each column that has something to say; a shared tolerance is said above."""
    offered: list[tuple[str, Callable[[Row], str]]] = [
        ("case", lambda row: row.case),
        ("sizes", _sizes),
        ("output", lambda row: row.output),
        ("max abs", lambda row: words.error(row.max_abs)),
        ("max rel", lambda row: words.error(row.max_rel)),
    ]
    if with_tolerance:
        offered.append(("tolerance", lambda row: words.tolerance(row.rtol, row.atol)))
    return tuple((name, text) for name, text in offered if any(text(row) for row in rows))


def _sizes(row: Row) -> str:
    # `batch=1` as a case already says it all when there is no other dynamic size.
    text = words.sizes(row.sizes)
    return "" if text == row.case else text


def _summed_up(rows: tuple[Row, ...]) -> tuple[tuple[Row, ...], int]:
    """One row per input set for what passed; each row that failed, up to a page of them."""
    failed = [row for row in rows if row.verdict is Verdict.FAIL]
    groups: dict[tuple[str, str, Verdict], list[Row]] = {}
    for row in rows:
        if row.verdict is not Verdict.FAIL:
            key = (row.case, words.sizes(row.sizes), row.verdict)
            groups.setdefault(key, []).append(row)
    shown = failed[:MANY] + [_worst(group) for group in groups.values()]
    return tuple(shown), len(failed) - len(failed[:MANY])


def _worst(group: list[Row]) -> Row:
    """One row that stands for all the outputs of an input set, with the largest errors."""
    first = group[0]
    if len(group) == 1:
        return first
    widest = max(group, key=lambda row: row.atol or 0)  # what was allowed to one is not hidden
    return Row(
        case=first.case,
        output=f"{len(group)} outputs",
        sizes=first.sizes,
        verdict=first.verdict,
        max_abs=_largest(row.max_abs for row in group),
        max_rel=_largest(row.max_rel for row in group),
        rtol=widest.rtol,
        atol=widest.atol,
        detail=next((row.detail for row in (widest, *group) if row.detail), ""),
    )


def _largest(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    # NaN is the worst there is, and `max` would lose it.
    return next((value for value in known if math.isnan(value)), max(known, default=None))
