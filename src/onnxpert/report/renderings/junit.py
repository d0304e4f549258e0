"""JUnit XML: what a CI system shows as tests."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from onnxpert.core.types import Finding, Row, Verdict
from onnxpert.report import layout, verdict, words
from onnxpert.report.rendering import rendering
from onnxpert.report.report import Report

# What XML 1.0 cannot hold, not even escaped: control characters and lone surrogates.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@rendering("junit", suffixes=(".xml",))
def junit(report: Report) -> str:
    """Test cases for CI: the verdict, each stage, each rule that was asked, each comparison."""
    suites = Element("testsuites", name="onnxpert")
    _suite(suites, "verdict", [_verdict(report)])
    _suite(suites, "stages", _stages(report))
    _suite(suites, "rules", _rules(report))
    _suite(suites, "proof", (_row(row, report) for row in report.verified))
    for total in ("tests", "failures", "skipped"):
        suites.set(total, str(sum(int(suite.get(total, "0")) for suite in suites)))
    suites.set("time", _seconds(sum(report.timings.values())))
    indent(suites)
    text = tostring(suites, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _suite(suites: Element, name: str, cases: Iterable[Element]) -> None:
    suite = SubElement(suites, "testsuite", name=f"onnxpert.{name}")
    suite.extend(cases)
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("errors", "0")
    suite.set("time", _seconds(sum(float(case.get("time", "0")) for case in suite)))


def _case(report: Report, group: str, name: str, seconds: float = 0.0) -> Element:
    subject = f"{report.model or 'model'}.{group}"
    return Element("testcase", classname=_clean(subject), name=_clean(name), time=_seconds(seconds))


def _verdict(report: Report) -> Element:
    said, quietly = verdict.headline(report)
    case = _case(report, "verdict", str(report.action))
    if report.ok:
        _add(case, "system-out", text=f"{said} {quietly}".strip())
    else:
        _add(case, "failure", text=str(report), message=said, type=str(report.action))
    return case


def _stages(report: Report) -> Iterator[Element]:
    for name, seconds in report.timings.items():
        yield _case(report, "stages", name, seconds)


def _rules(report: Report) -> Iterator[Element]:
    """A case per finding, and one that passes for each rule that found nothing."""
    names = {note.id: note.name for note in report.rules}
    fired = {finding.rule for finding in report.findings}
    for finding in verdict.ordered(report):
        yield _finding(finding, report, names.get(finding.rule, ""))
    for id in report.checked:
        if id not in fired:
            yield _case(report, "rules", id)


def _finding(finding: Finding, report: Report, name: str) -> Element:
    place = f" at {words.place(finding.location)}" if finding.location else ""
    case = _case(report, "rules", f"{finding.rule} {name}".strip() + place)
    if finding.location:
        case.set("file", _clean(words.posix(finding.location.file)))
        case.set("line", str(finding.location.line))
    text = "\n".join(map(str, layout.finding(finding, report.excerpts)))
    if finding.blocks:
        _add(case, "failure", text=text, message=finding.message, type=finding.rule)
    else:
        _add(case, "system-out", text=text)
    return case


def _row(row: Row, report: Report) -> Element:
    sizes = words.sizes(row.sizes)
    at = f" ({sizes})" if sizes and sizes != row.case else ""
    case = _case(report, "proof", f"{row.case}{at}: {row.output}")
    seen = (
        f"max abs {words.error(row.max_abs)}, max rel {words.error(row.max_rel)}, "
        f"tolerance {words.tolerance(row.rtol, row.atol)}"
    )
    text = "\n".join(filter(None, (seen, row.detail)))
    if row.verdict is Verdict.FAIL:
        _add(case, "failure", text=text, message=row.detail or seen, type="proof")
    elif row.verdict in (Verdict.REFUSED, Verdict.SKIPPED):
        _add(case, "skipped", message=row.detail or "the model refuses it")
    else:
        _add(case, "system-out", text=text)
    return case


def _add(case: Element, tag: str, text: str = "", **attributes: str) -> None:
    made = SubElement(case, tag, {key: _clean(value) for key, value in attributes.items()})
    made.text = _clean(text) or None


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\ufffd", text)


def _seconds(amount: float) -> str:
    return f"{amount:.3f}" if math.isfinite(amount) else "0.000"
