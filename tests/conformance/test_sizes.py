"""Random programs of sizes: the same in every run, all of them runnable, and some of them for real."""

from __future__ import annotations

from pathlib import Path

import pytest

from conformance.results import Outcome
from conformance.sizes.drawing import draw
from conformance.sizes.grammar import BLOCKS, VALUES
from conformance.sizes.run import STUDY
from conformance.sizes.trial import attempt

pytestmark = pytest.mark.filterwarnings("ignore")  # torch's own, of odd arguments


def test_a_seed_is_one_program() -> None:
    first, again = draw(5), draw(5)
    assert first == again
    assert draw(6).source != first.source
    assert first.source.splitlines()[first.first_line - 1].startswith("    def forward")
    assert set(first.example) == set("abcd")


def test_every_program_is_python_that_torch_takes() -> None:
    text = ""
    for seed in range(150):
        program = draw(seed)
        compile(program.source, "sizes", "exec")
        assert program.inputs
        text += program.source
    for word in ("while ", "if ", "for ", "//", "%", ".split(", ".unfold(", ".reshape(", "F.pad("):
        assert word in text
    assert set(VALUES) == set("nvmc")
    assert all(
        phrase.startswith(("{new}", "pieces", "rows", "state"))
        for p in BLOCKS.values()
        for phrase in p
    )


@pytest.mark.parametrize("seed", [1, 2, 7, 9, 13, 27])
def test_some_of_them(seed: int) -> None:
    outcome, detail, source = attempt(seed)
    assert outcome is Outcome.RIGHT, f"{detail}\n{source}"


def test_a_run_and_its_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "page.md"
    assert STUDY.main(["--first=16", "--count=2", "--jobs=1", f"--out={out}"]) == 0
    assert "| 2 | 2 | 0 | 0 | 0 | 0 |" in capsys.readouterr().out
    assert "Refused by rule: none." in out.read_text(encoding="utf-8")
