"""In a terminal: the same words, folded to the width, coloured only where colour is wanted."""

import dataclasses
import io

import pytest
from rich.console import Console

from onnxpert.core.types import Finding, Location, Row, Severity, Verdict
from onnxpert.report import Report
from onnxpert.report.excerpt import Excerpt
from tests.report import made


def _drawn(report: Report, width: int = 80, *, colour: bool = False) -> str:
    file = io.StringIO()
    system = "standard" if colour else None
    Console(file=file, width=width, color_system=system, force_terminal=colour).print(report)
    return file.getvalue()


def test_what_fits_is_the_plain_text(good: Report, bad: Report) -> None:
    for report in (good, bad):
        assert [line.rstrip() for line in _drawn(report).splitlines()] == str(report).splitlines()


def test_help_is_folded_below_itself() -> None:
    help = "use torch.where, or pad to a fixed size and return a mask " * 2
    at = Location("model.py", 6, "encoder")
    report = Report(ok=False, findings=(Finding("SHP201", Severity.ERROR, "no", at, help),))
    assert _drawn(report, 60).splitlines()[4:7] == [
        "   = help: use torch.where, or pad to a fixed size and",
        "       return a mask use torch.where, or pad to a fixed size",
        "       and return a mask",
    ]


@pytest.mark.parametrize("width", [10, 24, 40, 80])
def test_nothing_is_lost_or_too_wide(good: Report, bad: Report, width: int) -> None:
    for report in (good, bad):
        drawn = _drawn(report, width)
        for finding in report.findings:
            assert "".join(finding.message.split()) in "".join(drawn.split())
        if width >= 80:
            assert max(map(len, drawn.splitlines())) <= width


def test_a_long_path_is_kept_whole() -> None:
    file = "/usr/lib/python3/site-packages/" + "deep/" * 20 + "modelling.py"
    report = Report(
        ok=False, findings=(Finding("OPS301", Severity.ERROR, "no", Location(file, 7)),)
    )
    lines = [line.strip() for line in _drawn(report, 60).splitlines()]
    assert f"-->{file}:7=more:" in "".join(lines).replace(" ", "")


def test_a_wide_table_folds_its_sizes() -> None:
    sizes = {f"dimension_{at}": at for at in range(8)}
    row = Row("example", "y", sizes, Verdict.PASS, 0.0, 0.0, 1e-3, 1e-5)
    drawn = _drawn(Report(ok=True, verified=(row,)), 80)
    assert max(map(len, drawn.splitlines())) <= 80
    assert all(f"{name}={size}" in drawn for name, size in sizes.items())


def test_colour_marks_the_verdict(good: Report, bad: Report) -> None:
    assert _drawn(good, colour=True).startswith("\x1b[1;32mexported and proven")
    assert _drawn(bad, colour=True).startswith("\x1b[1;31mnot exported")
    unproven = dataclasses.replace(good, verify=False, verified=())
    assert _drawn(unproven, colour=True).startswith("\x1b[1;33mexported, not proven")


def test_brackets_of_a_message_are_no_markup() -> None:
    finding = Finding("SHP201", Severity.ERROR, "a tensor[bold] of [/red] size")
    assert "a tensor[bold] of [/red] size" in _drawn(Report(ok=False, findings=(finding,)))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_caret_stays_below_its_expression(width: int) -> None:
    before, expression = "value = " + "a + " * 12, "torch.linalg.eigvals(x)"
    source = f"        {before}{expression}" + " + b" * 30
    at = Location(
        "m.py", 7, "", "", source.strip(), 9 + len(before), 9 + len(before) + len(expression)
    )
    report = Report(
        ok=False,
        findings=(Finding("OPS501", Severity.ERROR, "no", at),),
        excerpts=(Excerpt("m.py", 7, (source,)),),
    )
    lines = _drawn(report, width).splitlines()
    assert max(map(len, lines)) <= width
    code = next(line for line in lines if line.startswith(" 7 | "))
    caret = next(line for line in lines if "^" in line)
    start = caret.index("^")
    assert code[start : start + caret.count("^")] == expression
    assert lines.index(caret) == lines.index(code) + 1


def test_an_expression_wider_than_the_terminal_is_cut() -> None:
    source = "y = " + "f(" * 80
    at = Location("m.py", 7, "", "", source, 5, 5 + 160)
    report = Report(
        ok=False,
        findings=(Finding("OPS501", Severity.ERROR, "no", at),),
        excerpts=(Excerpt("m.py", 7, (source,)),),
    )
    lines = _drawn(report, 60).splitlines()
    assert max(map(len, lines)) == 60
    assert next(line for line in lines if "^" in line).rstrip().endswith("^")


def test_calls_modules_and_a_diff_are_shown() -> None:
    text = _drawn(made.refused(12))
    assert "   = modules: encoder.layers.[0-11].attn" in text
    assert "   = called by: model.py:26 in encoder.layers.0: x = x + self.attn(" in text
    assert "     -        self.calls += 1\n" in text
    assert "     +        calls = self.calls + 1\n" in text
