"""Random programs: the same in every run, of every kind of phrase, and some of them for real."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from conformance.flows.drawing import draw
from conformance.flows.grammar import PHRASES
from conformance.flows.run import STUDY
from conformance.flows.trial import attempt
from conformance.results import Outcome, Row

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, of odd arguments


def test_a_seed_is_one_program() -> None:
    first, again = draw(5), draw(5)
    assert first == again
    assert draw(6).source != first.source
    assert first.source.splitlines()[first.first_line].startswith("    def ")


def test_every_program_is_python_without_gaps() -> None:
    for seed in range(200):
        program = draw(seed)
        compile(program.source, "flow", "exec")
        assert not re.search(r"\{\w+\}", program.source)
        assert program.inputs[0] == "x"


def test_every_kind_of_statement_is_drawn() -> None:
    text = "".join(draw(seed).source for seed in range(500))
    for word in ("while True:", "else:", "break", "continue", "try:", "h is not None", ".item()"):
        assert word in text
    assert all(PHRASES.values())


@pytest.mark.parametrize("seed", [1, 2, 4, 9, 14])
def test_some_of_them(seed: int) -> None:
    outcome, detail, source = attempt(seed)
    assert outcome is Outcome.RIGHT, f"{detail}\n{source}"


def test_a_run_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    assert STUDY.main(["--first=8", "--count=2", "--jobs=1", f"--out={out}"]) == 0
    assert "| 2 | 2 | 0 | 0 | 0 | 0 |" in capsys.readouterr().out
    assert "Refused by rule: none." in out.read_text(encoding="utf-8")


def test_the_page_names_what_has_no_file() -> None:
    rows = [
        Row("flow", "mixed", False, 0, Outcome.RIGHT),
        Row("flow", "mixed", False, 1, Outcome.REFUSED, "CTL405: a `number`; SHP201: fixed; x"),
        Row("flow", "mixed", False, 2, Outcome.IDLE, "IndexError: no"),
    ]
    text = STUDY.written(rows)
    assert "| 3 | 1 | 1 | 0 | 0 | 0 | 1 |" in text
    assert "Refused by rule:" in text
    assert "CTL405 1" in text
    assert "- 1, refused: CTL405: a 'number'; SHP201: fixed; x" in text
    assert "IndexError" not in text
