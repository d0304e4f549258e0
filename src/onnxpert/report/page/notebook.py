"""A report in a notebook: the verdict, the findings and the proof, small enough to stand in a cell."""

from __future__ import annotations

from collections.abc import Iterator

from onnxpert.core.types import Finding
from onnxpert.report import layout, proof, verdict, words
from onnxpert.report.excerpt import shown
from onnxpert.report.line import Role
from onnxpert.report.page.tag import Markup, tag
from onnxpert.report.report import Report

MOST_FINDINGS = 12
# Every rule is scoped to the fragment: a notebook holds other people's HTML too.
_STYLE = """
.onnxpert{--fg:#1c1d21;--dim:#63656e;--line:#dcdcd6;--soft:#f4f4f1;--good:#18794e;--bad:#c4283a;
--warn:#8a5a00;--info:#2563b8;color:var(--fg);font:14px/1.5 system-ui,sans-serif;max-width:58rem}
@media(prefers-color-scheme:dark){.onnxpert{--fg:#e4e6eb;--dim:#a9adb8;--line:#3a404c;
--soft:#16191f;--good:#4cc38a;--bad:#ff7b87;--warn:#f0b44c;--info:#74b0ff}}
.onnxpert h4{font-size:1.1em;margin:.3em 0 0}.onnxpert p{margin:.15em 0}
.onnxpert code,.onnxpert pre{font:.88em/1.5 ui-monospace,monospace;background:none;color:inherit}
.onnxpert pre{background:var(--soft);border-radius:6px;padding:.5em .8em;margin:.35em 0;
overflow-x:auto}
.onnxpert .dim{color:var(--dim)}.onnxpert .good,.onnxpert .pass,.onnxpert .repaired{color:var(--good)}
.onnxpert .bad,.onnxpert .error,.onnxpert .fail{color:var(--bad)}
.onnxpert .warn,.onnxpert .warning,.onnxpert .refused,.onnxpert .skipped{color:var(--warn)}
.onnxpert .info{color:var(--info)}
.onnxpert details{border-left:3px solid currentColor;padding:.1em 0 .1em .8em;margin:.6em 0}
.onnxpert details>*{color:var(--fg)}.onnxpert summary{cursor:pointer}
.onnxpert table{border-collapse:collapse;margin:.4em 0}
.onnxpert th,.onnxpert td{text-align:left;padding:.15em 1em .15em 0;
border-bottom:1px solid var(--line);background:none}
.onnxpert th{color:var(--dim);font-weight:normal}
.onnxpert .number{text-align:right;font-variant-numeric:tabular-nums}
"""
_MOODS = {Role.GOOD: "good", Role.BAD: "bad", Role.WARN: "warn"}


def fragment(report: Report) -> str:
    return tag("div", tag("style", Markup(_STYLE)), *_body(report), class_="onnxpert")


def _body(report: Report) -> Iterator[Markup]:
    said, quietly = verdict.headline(report)
    yield tag("h4", said, class_=_MOODS[layout.mood(report)])
    subject = [report.model, f"for {report.target}" if report.target else "", quietly]
    yield tag("p", " ".join(each for each in subject if each), class_="dim")
    if report.ok and (values := (*report.inputs, *report.outputs)):
        few = values[: layout.MOST_VALUES]
        more = f" and {len(values) - len(few)} more" if len(values) > len(few) else ""
        yield tag("p", tag("code", "; ".join(few) + more), class_="dim")
    for sentence in report.repairs:
        yield tag("p", f"repair: {sentence}", class_="dim")
    found = verdict.ordered(report)
    for finding in found[:MOST_FINDINGS]:
        yield _finding(finding, report)
    if len(found) > MOST_FINDINGS:
        yield tag("p", f"... and {len(found) - MOST_FINDINGS} more findings", class_="dim")
    yield from _proof(report)
    if report.divergence:
        detail = f": {report.divergence.detail}" if report.divergence.detail else ""
        yield tag("p", f"first difference: {layout.node(report.divergence)}{detail}", class_="bad")
    if report.timings:
        yield tag("p", str(layout.timings(report)), class_="dim")


def _finding(finding: Finding, report: Report) -> Markup:
    label = "repaired" if finding.repaired else finding.severity.value
    title = [tag("b", f"{label}[{finding.rule}]", class_=label), f" {finding.message}"]
    inner = []
    if finding.location:
        more = f" ({words.repeated(finding)})" if words.repeated(finding) else ""
        inner.append(tag("p", tag("code", words.place(finding.location)), more, class_="dim"))
        inner += _excerpt(finding, report)
    for name, text in (
        ("repaired", (finding.repair or "by onnxpert") if finding.repaired else ""),
        ("help", finding.help),
        *(("note", note) for note in finding.notes),
    ):
        if text:
            inner.append(tag("p", tag("span", f"{name}: ", class_="dim"), text))
    if finding.diff:
        inner.append(tag("pre", finding.diff.rstrip("\n")))
    return tag(
        "details",
        tag("summary", *title),
        *inner,
        class_=label,
        open="" if finding.blocks else None,
    )


def _excerpt(finding: Finding, report: Report) -> Iterator[Markup]:
    assert finding.location is not None
    seen = shown(finding.location, report.excerpts)
    if seen is None:
        return
    [(number, text)] = seen.lines
    gutter = f"{number} | "
    lines = [gutter + text]
    if seen.caret:
        start, length = seen.caret
        lines.append(" " * (len(gutter) - 2) + "| " + " " * start + "^" * length)
    yield tag("pre", "\n".join(lines))


def _proof(report: Report) -> Iterator[Markup]:
    table = proof.table(report)
    if table is None:
        return
    kinds = ["number" if at in table.numeric else None for at in range(len(table.columns))]
    yield tag("p", tag("b", "proof "), table.heading)
    heads = [tag("th", name, class_=kind) for name, kind in zip(table.columns, kinds, strict=True)]
    rows = [
        tag(
            "tr",
            *(tag("td", text, class_=kind) for text, kind in zip(row.texts, kinds, strict=True)),
            tag("td", tag("span", row.verdict.value, class_=row.verdict.value), f" {row.detail}"),
        )
        for row in table.rows
    ]
    yield tag("table", tag("tr", *heads, tag("th", "verdict")), *rows)
    if table.left_out:
        yield tag("p", f"... and {table.left_out} more that failed", class_="dim")
