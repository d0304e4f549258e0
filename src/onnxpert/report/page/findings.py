"""The findings of a report, a card each."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Divergence, Finding
from onnxpert.report import layout, verdict, words
from onnxpert.report.page import code
from onnxpert.report.page.tag import Markup, tag
from onnxpert.report.report import Report

_MANY = 6  # findings that no screen shows at once


def section(report: Report) -> Markup:
    cards = [card(each, at, report) for at, each in enumerate(verdict.ordered(report), start=1)]
    if report.divergence:
        cards.append(difference(report.divergence, report))
    if not cards:
        return Markup("")
    head = [tag("h2", "Findings"), tag("p", summary(report)), *_contents(report)]
    return tag("section", *head, *cards, id="findings")


def _contents(report: Report) -> Iterator[Markup]:
    """Where there are many: a line each, which leads to the card."""
    found = verdict.ordered(report)
    if len(found) < _MANY:
        return
    rows = [
        tag(
            "li",
            tag("span", _label(each), class_=f"pill {_label(each)}"),
            tag("a", each.message, href=f"#finding-{at}"),
            tag("span", words.place(each.location) if each.location else "", class_="place"),
        )
        for at, each in enumerate(found, start=1)
    ]
    yield tag("ol", *rows, class_="card contents")


def _label(finding: Finding) -> str:
    return "repaired" if finding.repaired else finding.severity.value


def summary(report: Report) -> str:
    """`2 errors, 1 warning, 1 repaired`."""
    many: dict[str, int] = {}
    for finding in verdict.ordered(report):
        label = _label(finding)
        many[label] = many.get(label, 0) + 1
    said = [
        f"{count} repaired" if label == "repaired" else words.several(count, label)
        for label, count in many.items()
    ]
    return ", ".join(said) or "where the values part"


def card(finding: Finding, number: int, report: Report) -> Markup:
    label = _label(finding)
    header = tag(
        "header",
        tag("span", label, class_=f"pill {label}"),
        tag("a", finding.rule, class_="rule", href=f"#finding-{number}"),
        *_to_graph(number, report),
        tag("h3", finding.message),
    )
    inner = [*_place(finding, report), *_help(finding), *_more(finding, report)]
    return tag("article", header, *inner, class_=f"card finding {label}", id=f"finding-{number}")


def difference(divergence: Divergence, report: Report) -> Markup:
    """The first node of the file that computes something else than the model."""
    inner = [
        tag(
            "header",
            tag("span", "first difference", class_="pill error"),
            tag("h3", layout.node(divergence)),
        )
    ]
    if divergence.location:
        inner.append(tag("p", tag("b", words.place(divergence.location)), class_="place"))
        inner.append(code.excerpt(divergence.location, report))
    if divergence.detail:
        inner.append(tag("ul", tag("li", divergence.detail), class_="notes"))
    return tag("article", *inner, class_="card finding error", id="difference")


def _to_graph(number: int, report: Report) -> Iterator[Markup]:
    if report.graph is None:
        return
    index = report.findings.index(verdict.ordered(report)[number - 1])
    if any(index in node.findings for node in report.graph.nodes):
        yield tag(
            "a",
            "show in graph",
            href="#graph",
            class_="tograph needs-script",
            data_finding=number,
        )


def _place(finding: Finding, report: Report) -> Iterator[Markup]:
    at = finding.location
    if at:
        inside = at.module or at.function
        where = words.path(at.file) + (f":{at.line}" if at.line else "")
        several = len(finding.modules) > 1
        said = f" in {words.modules(finding.modules) if several else inside}" if inside else ""
        often = words.several(finding.count, "place" if several else "time")
        more = f" · {often}" if finding.count > 1 else ""
        yield tag("p", tag("b", where), said + more, class_="place")
        yield code.excerpt(at, report)
    elif finding.count > 1:
        yield tag("p", f"seen {words.several(finding.count, 'time')}", class_="place")


def _help(finding: Finding) -> Iterator[Markup]:
    if finding.repaired:
        yield tag(
            "div", tag("b", "Repaired"), tag("p", finding.repair or "by onnxpert"), class_="help"
        )
    if finding.help:
        yield tag("div", tag("b", "What to do"), tag("p", finding.help), class_="help")
    if finding.notes:
        yield tag("ul", *(tag("li", note) for note in finding.notes), class_="notes")


def _more(finding: Finding, report: Report) -> Iterator[Markup]:
    if finding.diff:
        yield _folded("The change of your file", code.diff(finding.diff), open=True)
    if finding.stack:
        calls = [
            tag("li", words.place(each), " ", tag("span", each.code.strip()))
            for each in reversed(finding.stack)
        ]
        yield _folded("Called by", tag("ul", *calls, class_="calls"))
    note = next((each for each in report.rules if each.id == finding.rule and each.page), None)
    if note:
        page = tag("div", code.markdown(note.page), class_="page")
        yield _folded(f"About {note.id} {note.name}", page)
    else:
        yield tag(
            "ul",
            tag("li", "more: ", tag("code", f"onnxpert explain {finding.rule}")),
            class_="notes",
        )


def _folded(title: str, inner: Markup, *, open: bool = False) -> Markup:
    return tag("details", tag("summary", title), inner, open="" if open else None)
