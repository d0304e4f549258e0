"""What the source says at a place."""

from __future__ import annotations

from pathlib import Path

import pytest

from onnxpert.core.statement import Statement, is_only_computed, statement
from onnxpert.core.types import Location

LINES = [
    "def f(x, names):",
    "    a = x.item()",
    "    b = x.item()",
    "    c = x.item()",
    "    y = x * a + torch.full((2,), 3 * a)",
    "    z = names[b]",
    "    print(c)",
    "    for i in range(x.item()):",
    "        y = y * x.item() + int(x)",
    "    return [v for v in y if v > 0]",
]


@pytest.fixture
def file(tmp_path: Path) -> str:
    path = tmp_path / "model.py"
    path.write_text("\n".join(LINES), encoding="utf-8")
    return str(path)


def at(file: str, line: int, part: str) -> Location:
    column = LINES[line - 1].index(part) + 1
    return Location(file, line, column=column, end_column=column + len(part))


@pytest.mark.parametrize(
    ("line", "part", "computed"),
    [
        (2, "x.item()", True),  # into arithmetic, and a call of torch's
        (3, "x.item()", False),  # an index of a list
        (4, "x.item()", True),  # a message
        (8, "x.item()", False),  # how often a loop runs
        (9, "x.item()", True),
        (9, "int(x)", False),  # a number of Python's there and then
    ],
)
def test_whether_a_number_is_only_computed_with(
    file: str, line: int, part: str, computed: bool
) -> None:
    assert is_only_computed(at(file, line, part)) is computed


def test_the_condition_of_a_comprehension_is_one(file: str) -> None:
    assert statement(at(file, 10, "v > 0")) is Statement.IF
    assert statement(at(file, 10, "y")) is None
