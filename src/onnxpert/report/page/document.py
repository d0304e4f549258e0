"""The whole page: verdict, findings, proof, graph, time, in this order."""

from __future__ import annotations

from importlib.resources import files

from onnxpert.report import layout, verdict, words
from onnxpert.report.line import Role
from onnxpert.report.page import findings, picture, proof, quantised
from onnxpert.report.page.tag import Markup, join, tag
from onnxpert.report.report import Report

SCRIPTS = ("layout.js", "view.js", "explorer.js")
# Nothing is fetched, from nowhere, whatever a report holds.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_MOODS = {Role.GOOD: "good", Role.BAD: "bad", Role.WARN: "warn"}
_MARKS = {
    "good": '<path d="m14.5 24.5 6.5 6.5 12.5-14"/>',
    "bad": '<path d="m16.5 16.5 15 15m0-15-15 15"/>',
    "warn": '<path d="M24 13.5v13m0 7v.5"/>',
}
_TITLES = {
    "findings": "Findings",
    "proof": "Proof",
    "quantised": "Quantised",
    "graph": "Graph",
    "time": "Time",
}


def page(report: Report) -> str:
    sections = {
        "findings": findings.section(report),
        "proof": proof.section(report),
        "quantised": quantised.section(report),
        "graph": picture.section(report),
        "time": time(report),
    }
    links = [tag("a", _TITLES[name], href=f"#{name}") for name, made in sections.items() if made]
    bar = tag(
        "div",
        tag("div", tag("span", "onnx", tag("i", "pert"), class_="brand"), tag("nav", *links)),
        class_="top",
    )
    main = tag("main", *head(report), *sections.values(), foot(report))
    return f"<!doctype html>\n{tag('html', _head(report), tag('body', bar, main, _script(report)), lang='en')}\n"


def _head(report: Report) -> Markup:
    title = f"{report.model or 'model'}: {verdict.headline(report)[0]}"
    return tag(
        "head",
        Markup('<meta charset="utf-8">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        Markup('<meta name="viewport" content="width=device-width,initial-scale=1">'),
        Markup('<meta name="color-scheme" content="light dark">'),
        tag("title", title),
        tag("style", Markup(read("style.css"))),
    )


def _script(report: Report) -> Markup:
    if report.graph is None:
        return Markup("")
    return tag("script", Markup("\n".join(map(read, SCRIPTS))))


def read(name: str) -> str:
    return files("onnxpert.report.page").joinpath(name).read_text(encoding="utf-8")


def head(report: Report) -> list[Markup]:
    mood = _MOODS[layout.mood(report)]
    said, _, rest = verdict.headline(report)[0].partition(": ")
    about = [report.model, f"for {report.target}" if report.target else ""]
    subject = " ".join(each for each in about if each)
    ring = '<circle cx="24" cy="24" r="21"/>'
    sign = Markup(
        '<svg viewBox="0 0 48 48" fill="none" stroke="currentColor" stroke-width="3.5" '
        f'stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">{ring}{_MARKS[mood]}</svg>'
    )
    text = [tag("h1", said[:1].upper() + said[1:]), tag("p", _about(subject, rest))]
    return [
        tag("div", sign, *text, class_=f"verdict {mood}"),
        _tiles(report),
        _signature(report),
    ]


def _about(subject: str, rest: str) -> str:
    return " · ".join(each for each in (subject, rest) if each)


def _tiles(report: Report) -> Markup:
    facts = [
        ("opset", "" if report.opset is None else str(report.opset)),
        ("operators", "" if report.nodes is None else f"{report.nodes:,}"),
        ("size", "" if report.bytes is None else words.size(report.bytes)),
        ("comparisons", f"{len(report.verified):,}" if report.verified else ""),
        ("capture", report.strategy),
        ("time", words.seconds(sum(report.timings.values())) if report.timings else ""),
    ]
    tiles = [tag("div", tag("dt", name), tag("dd", text)) for name, text in facts if text]
    return tag("dl", *tiles, class_="tiles") if tiles else Markup("")


def _signature(report: Report) -> Markup:
    if not report.ok and not report.repairs:
        return Markup("")
    facts = [("repair", each) for each in report.repairs]
    if report.ok:
        facts = [
            *(("input", each) for each in report.inputs),
            *(("output", each) for each in report.outputs),
            *(("size", words.span(each)) for each in report.symbols),
            *facts,
            *([("sha256", report.sha256)] if report.sha256 else []),
        ]
    rows = [join([tag("dt", name), tag("dd", tag("code", text))]) for name, text in facts]
    return tag("dl", *rows, class_="signature") if rows else Markup("")


def time(report: Report) -> Markup:
    """A bar per stage."""
    if not report.timings:
        return Markup("")
    longest = max(report.timings.values()) or 1.0
    rows = [
        join(
            [
                tag("dt", name),
                tag("dd", tag("i", style=f"width:{100 * spent / longest:.1f}%"), class_="bar"),
                tag("dd", words.seconds(spent), class_="time"),
            ]
        )
        for name, spent in report.timings.items()
    ]
    total = f"{words.seconds(sum(report.timings.values()))} in all"
    bars = tag("dl", *rows, class_="bars card")
    return tag("section", tag("h2", "Time"), tag("p", total), bars, id="time")


def foot(report: Report) -> Markup:
    ours = [f"onnxpert {report.version}"] if report.version else ["onnxpert"]
    used = [f"{name} {version}" for name, version in report.versions.items()]
    return tag("footer", " · ".join([*ours, *used]))
