"""What the source says at a place, and where it says a thing."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxpert.core.statement import Statement, statement, write_of
from onnxpert.core.types import Location

SOURCE = """\
COUNT = 0

def f(x):
    global COUNT
    if x > 0 and (
        x < 3
    ):
        COUNT += 1
    while x:
        x = x - 1
    assert x == 0, "x"
    y = 1 if x else 2
    return x

class A:
    def __init__(self):
        self.items = []

    def forward(self, x):
        self.items[0].extend([x])
        self.table["x"] = x
"""


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "source.py"
    path.write_text(SOURCE, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (5, Statement.IF),
        (6, Statement.IF),
        (9, Statement.WHILE),
        (11, Statement.ASSERT),
        (12, Statement.IF),
        (10, None),
    ],
)
def test_a_condition_is_known_by_its_statement(file: str, line: int, kind: Statement) -> None:
    assert statement(Location(file, line)) is kind


def test_a_file_that_is_not_there_says_nothing() -> None:
    assert statement(Location("/nowhere/at/all.py", 1)) is None
    assert write_of("/nowhere/at/all.py", "x") is None


@pytest.mark.parametrize(
    ("name", "inside", "line"), [("COUNT", "", 8), ("items", "A", 20), ("table", "A", 21)]
)
def test_a_write_is_found_in_a_function(file: str, name: str, inside: str, line: int) -> None:
    found = write_of(file, name, "layer", inside)
    assert found is not None
    assert found.line == line
    assert found.module == "layer"


def test_what_is_never_written_has_no_place(file: str) -> None:
    assert write_of(file, "OTHER") is None
    assert write_of(file, "COUNT", inside="A") is None
