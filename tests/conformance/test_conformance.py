"""The conformance suite itself: a dozen operators through it, and what it does when things go wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance import pool, run
from conformance.page import page
from conformance.results import Facts, Outcome, Row, read, written
from conformance.scope import OUT_OF_SCOPE
from conformance.worker import Task
from tests.conformance.children import unruly

DOZEN = (
    "abs", "add", "addmm", "argmax", "bernoulli", "broadcast_shapes", "cumsum", "gather", "item",
    "nn.functional.gelu", "nn.functional.layer_norm", "sum", "view_as_complex", "where",
)  # fmt: skip


def rows_of(path: Path) -> list[Row]:
    return [entry for entry in read(path) if isinstance(entry, Row)]


@pytest.mark.filterwarnings("ignore")  # the database is torch's own, with warnings of its own
def test_a_dozen_operators(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal, out = tmp_path / "rows.jsonl", tmp_path / "operators.md"
    only = "|".join(f"^{name}$".replace(".", r"\.") for name in DOZEN)
    words = ["--only", only, "--forms=static,dynamic,float16", "--samples=2", "--jobs=1"]
    words += [f"--journal={journal}", f"--out={out}"]
    assert run.main(words) == 0
    first = journal.read_text(encoding="utf-8")
    bad = [row for row in rows_of(journal) if row.outcome is not Outcome.RIGHT]
    assert not bad
    seen = {(row.operator, str(row.form)) for row in rows_of(journal)}
    assert {name for name, _ in seen} == set(DOZEN) - OUT_OF_SCOPE.keys()
    assert {("sum", "float32"), ("sum", "float32, dynamic"), ("sum", "float16")} <= seen
    assert "## What is not right yet\n\nNothing." in out.read_text(encoding="utf-8")
    assert "| `abs` | own | 13 | float32, float16 |" in out.read_text(encoding="utf-8")
    assert "`item`: it gives Python values" in out.read_text(encoding="utf-8")

    assert "A part: 12 of " in out.read_text(encoding="utf-8")

    assert run.main([*words, "--resume"]) == 0  # there is nothing left to do
    assert journal.read_text(encoding="utf-8") == first
    assert "| float16 | " in capsys.readouterr().out


def test_a_crash_and_a_hang_are_rows_and_the_rest_goes_on() -> None:
    lane = pool.Lane(timeout=1.0, serve=unruly)
    try:
        rows = list(lane.perform(Task("sum", "float32", dynamic=False, limit=3)))
    finally:
        lane.close()
    assert [(row.sample, row.outcome) for row in rows if isinstance(row, Row)] == [
        (0, Outcome.RIGHT),
        (1, Outcome.CRASHED),
        (2, Outcome.TIMED_OUT),
    ]
    assert rows[1] == Row("sum", "float32", False, 1, Outcome.CRASHED, "exit code 3", "call 1")


def test_the_journal_gives_back_what_was_written_and_survives_a_cut(tmp_path: Path) -> None:
    entries = [Row("a", "bool", True, 0, Outcome.WRONG, "why", "x"), Facts("a", ("own",), 13)]
    path = tmp_path / "journal"
    path.write_text("\n".join(map(written, entries)) + '\n{"operator": "b', encoding="utf-8")
    assert list(read(path)) == entries


def test_the_page_counts_and_names_the_cause() -> None:
    rows = [
        Row("sin", "float32", False, 0, Outcome.RIGHT),
        Row("sin", "float32", False, 1, Outcome.IDLE, "torch refuses it"),
        Row("sin", "float32", True, 0, Outcome.REFUSED, "OPS501: no | lowering", "float32[2]"),
        Row("sin", "uint8", False, 0, Outcome.RIGHT),
        Row("sin", "uint8", False, 3, Outcome.WRONG, "2 of 4 values differ", "uint8[4]"),
    ]
    text = page([*rows, Facts("sin", ("own", "decomposition"), 17)])
    assert "| `sin` | own + decomposition | 17 | float32, uint8 1/2 | 1/1 | 0/1 |" in text
    assert "- `sin`, float32, dynamic: 1 of 1 refused: OPS501: no / lowering (`float32[2]`)" in text
    assert "| uint8 | 1/2 | 50.0 % | 0/1 | 1 |" in text
    assert "A part" not in text
    known = page([Row("svd", "float32", False, 0, Outcome.REFUSED, "NUM701: differs", "uint8[4]")])
    assert "refused: some singular values are zero or equal" in known
    assert "A part: 1 of 2 operators were tried." in page(rows, in_scope=2)


def test_an_unknown_form_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run.main(["--forms=static,float17"])
    assert "float17: not of static, dynamic" in capsys.readouterr().err
