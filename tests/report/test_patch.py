"""A unified diff, read back, does to a file what `patch` does."""

import difflib

from hypothesis import given
from hypothesis import strategies as st

from onnxpert.report.patch import Replacement, changes
from tests.report import made

lines = st.lists(st.sampled_from(["a\n", "b\n", "  c\n", "--- d\n", "\n", "@@\n"]), max_size=14)


def _applied(before: list[str], replacements: tuple[Replacement, ...]) -> list[str]:
    after, done = [], 0
    for each in replacements:
        after += before[done : each.line - 1]
        after += each.text.splitlines(keepends=True)
        done = each.line - 1 + each.count
    return after + before[done:]


@given(lines, lines, st.integers(0, 3))
def test_it_undoes_difflib(before: list[str], after: list[str], around: int) -> None:
    diff = "".join(difflib.unified_diff(before, after, "a/x.py", "b/x.py", n=around))
    found = changes(diff)
    if before == after:
        assert found == ()
    else:
        assert [change.file for change in found] == ["x.py"]
        assert _applied(before, found[0].replacements) == after


def test_the_example() -> None:
    (change,) = changes(made.DIFF)
    assert change.file == "model.py"
    assert change.replacements == (Replacement(18, 1, "        calls = self.calls + 1\n"),)


def test_no_diff_changes_nothing() -> None:
    assert changes("") == ()
