"""Markdown: a comment below a pull request, or a page of a wiki."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from onnxpert.core.types import Divergence, Finding, Location
from onnxpert.report import layout, proof, quantised, verdict, words
from onnxpert.report.excerpt import shown
from onnxpert.report.rendering import rendering
from onnxpert.report.report import Report

MARK = "<!-- onnxpert -->"  # by which a bot finds the comment that it wrote last time
AROUND = 2
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~!@])")
_SIGNS = {"good": "✅", "bad": "❌", "warn": "⚠️"}


@rendering("markdown", suffixes=(".md",))
def markdown(report: Report) -> str:
    """A comment for a pull request: the verdict open, findings and proof to unfold."""
    blocks = [MARK, *_head(report)]
    for finding in verdict.ordered(report):
        blocks += _finding(finding, report)
    blocks += _proof(report)
    blocks += _quantised(report)
    if report.divergence:
        blocks += _divergence(report.divergence, report)
    blocks += _foot(report)
    return "\n\n".join(blocks)


def _head(report: Report) -> Iterator[str]:
    said, quietly = verdict.headline(report)
    subject = f"{escaped(report.model)}: " if report.model else ""
    yield f"### {_SIGNS[layout.mood(report).value]} {subject}{escaped(said)}"
    if quietly:
        yield escaped(quietly.strip("()"))
    if report.ok and (report.inputs or report.outputs):
        facts = [("input", each) for each in report.inputs]
        facts += [("output", each) for each in report.outputs]
        facts += [("size", words.span(each)) for each in report.symbols]
        yield _folded("Inputs and outputs", [_table(("", ""), [(a, code(b)) for a, b in facts])])
    if report.repairs:
        yield "\n".join(f"- repaired: {escaped(each)}" for each in report.repairs)


def _finding(finding: Finding, report: Report) -> Iterator[str]:
    label = "repaired" if finding.repaired else finding.severity.value
    title = f"<b>{label}[{_html(finding.rule)}]</b>: {_html(finding.message)}"
    inner = [*_place(finding.location, report), *_remarks(finding)]
    if finding.diff:
        inner.append(fenced(finding.diff.rstrip("\n"), "diff"))
    yield _folded(title, inner, open=finding.blocks)


def _place(location: Location | None, report: Report) -> Iterator[str]:
    if location is None:
        return
    yield code(words.place(location))
    seen = shown(location, report.excerpts, AROUND)
    if seen is None:
        return
    width = len(str(seen.lines[-1][0]))
    lines = []
    for number, text in seen.lines:
        mark = ">" if number == location.line and len(seen.lines) > 1 else " "
        lines.append(f"{mark} {number:>{width}} | {text}".rstrip())
        if number == location.line and seen.caret:
            start, length = seen.caret
            lines.append(" " * (width + 2) + " | " + " " * start + "^" * length)
    yield fenced("\n".join(lines), "text")


def _remarks(finding: Finding) -> Iterator[str]:
    said = []
    if repeated := words.repeated(finding):
        said.append(f"**seen** {escaped(repeated)}")
    if finding.stack:
        calls = " ← ".join(code(words.place(each)) for each in reversed(finding.stack))
        said.append(f"**called by** {calls}")
    if finding.repaired:
        said.append(f"**repaired by** {code(finding.repair or 'onnxpert')}")
    if finding.help:
        said.append(f"**help**: {escaped(finding.help)}")
    said += [f"**note**: {escaped(note)}" for note in finding.notes]
    said.append(f"**more**: {code(f'onnxpert explain {finding.rule}')}")
    yield "\n".join(f"- {each}" for each in said)


def _proof(report: Report) -> Iterator[str]:
    shown = proof.table(report)
    if shown is None:
        return
    columns = (*shown.columns, "verdict")
    rows = [
        (*map(escaped, row.texts), f"**{row.verdict}** {escaped(row.detail)}".strip())
        for row in shown.rows
    ]
    right = [at in shown.numeric for at in range(len(columns))]
    inner = [_table(columns, rows, right)]
    if shown.left_out:
        inner.append(f"... and {shown.left_out} more that failed")
    yield _folded(f"<b>proof</b> {_html(shown.heading)}", inner, open=not report.ok)


def _quantised(report: Report) -> Iterator[str]:
    if report.quantised is None:
        return
    inner = []
    for sheet in quantised.sheets(report.quantised):
        right = [at in sheet.numeric for at in range(len(sheet.columns))]
        rows = [tuple(map(escaped, row)) for row in sheet.rows]
        inner += [f"**{escaped(sheet.title)}**", _table(sheet.columns, rows, right)]
        inner += [escaped(sheet.below)] if sheet.below else []
    title = _html(quantised.heading(report.quantised))
    yield _folded(f"<b>quantised</b> {title}", inner, open=not report.ok)


def _divergence(divergence: Divergence, report: Report) -> Iterator[str]:
    yield f"**first difference**: {code(layout.node(divergence))} {escaped(divergence.detail)}"
    yield from _place(divergence.location, report)


def _foot(report: Report) -> Iterator[str]:
    spent = [f"{name} {words.seconds(seconds)}" for name, seconds in report.timings.items()]
    used = [f"{name} {version}" for name, version in report.versions.items()]
    ours = [f"onnxpert {report.version}"] if report.version else []
    for line in (spent, [*ours, *used]):
        if line:
            yield f"<sub>{_html(', '.join(line))}</sub>"


def escaped(text: str) -> str:
    """Text that Markdown takes as it stands, on one line."""
    return _SPECIAL.sub(r"\\\1", " ".join(text.split()))


def code(text: str) -> str:
    """Text in backticks, more of them than it holds in a row itself."""
    flat = " ".join(text.split())
    ticks = "`" * (_longest(flat) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") or not flat else ""
    return f"{ticks}{pad}{flat}{pad}{ticks}"


def fenced(text: str, language: str) -> str:
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, re.findall("`+", text)), default=0)


def _html(text: str) -> str:
    """Text inside a tag, where Markdown is not read but HTML is."""
    flat = " ".join(text.split())
    return flat.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _folded(title: str, inner: Iterable[str], *, open: bool = False) -> str:
    # The empty lines are what makes Markdown read on inside the tags.
    body = "\n\n".join(inner)
    return f"<details{' open' if open else ''}>\n<summary>{title}</summary>\n\n{body}\n\n</details>"


def _table(
    columns: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = ()
) -> str:
    rule = ["---:" if at < len(right) and right[at] else "---" for at in range(len(columns))]
    # A bar would end a cell, even inside backticks.
    closed = ([re.sub(r"(?<!\\)\|", r"\|", cell) for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (columns, rule, *closed))
