"""Excerpts: the caret stands below the expression, whatever the indentation."""

from onnxpert.core.types import Location
from onnxpert.report.excerpt import Excerpt, shown
from tests.report import made

KNOWN = (Excerpt("model.py", 11, made.SOURCE),)


def test_the_caret_is_below_the_expression() -> None:
    seen = shown(made.MISSING, KNOWN)
    assert seen is not None
    ((number, text),) = seen.lines
    start, length = seen.caret or (0, 0)
    assert number == 14
    assert text[start : start + length] == "torch.linalg.eigvals(scores @ scores.mT)"


def test_lines_around_keep_their_indentation() -> None:
    seen = shown(made.MISSING, KNOWN, around=3)
    assert seen is not None
    assert [number for number, _ in seen.lines] == [11, 12, 13, 14, 15, 16]
    assert seen.lines[0][1].startswith("def forward")
    assert seen.lines[3][1].startswith("    spectrum")


def test_empty_lines_at_the_ends_are_left_out() -> None:
    at = Location("model.py", 16, code=made.SOURCE[5].strip())
    seen = shown(at, KNOWN, around=1)
    assert seen is not None
    assert [number for number, _ in seen.lines] == [16]


def test_tabs_are_as_wide_as_they_look() -> None:
    seen = shown(Location("t.py", 2, column=3, end_column=6), [Excerpt("t.py", 2, ("\t\tfoo()",))])
    assert seen is not None
    assert seen.lines == ((2, "foo()"),)
    assert seen.caret == (0, 3)


def test_a_file_that_has_changed_is_not_quoted() -> None:
    at = Location("model.py", 14, code="something_else()", column=20, end_column=24)
    seen = shown(at, KNOWN, around=2)
    assert seen is not None
    assert seen.lines == ((14, "something_else()"),)
    assert seen.caret is None  # its indentation is not known


def test_nothing_known_is_nothing_shown() -> None:
    assert shown(Location("other.py", 3), KNOWN) is None


def test_columns_beyond_the_line_have_no_caret() -> None:
    at = Location("model.py", 14, column=400, end_column=410)
    seen = shown(at, KNOWN)
    assert seen is not None
    assert seen.caret is None
