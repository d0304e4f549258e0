"""A report as HTML: a fragment for notebooks, and one self-contained page; no script, no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from onnxpert.core.types import Divergence, Finding, Location
from onnxpert.report import layout, proof, verdict, words
from onnxpert.report.line import Role
from onnxpert.report.report import Report

# Every rule is scoped to the fragment: a notebook holds other people's HTML too.
_STYLE = """
.onnxpert{--fg:#1f2328;--dim:#59636e;--line:#d1d9e0;--soft:#f6f8fa;--good:#1a7f37;--bad:#cf222e;
--warn:#9a6700;--info:#0969da;color:var(--fg);font:14px/1.5 system-ui,sans-serif;max-width:60rem}
@media(prefers-color-scheme:dark){.onnxpert{--fg:#d1d7e0;--dim:#9198a1;--line:#3d444d;
--soft:#151b23;--good:#3fb950;--bad:#f85149;--warn:#d29922;--info:#4493f8}}
.onnxpert h1{font-size:1.15em;margin:.2em 0}
.onnxpert code,.onnxpert pre{font:.9em/1.5 ui-monospace,monospace;background:none;color:inherit}
.onnxpert pre{background:var(--soft);border-radius:4px;padding:.4em .8em;margin:.4em 0;
overflow-x:auto}
.onnxpert .dim{color:var(--dim)}.onnxpert .good,.onnxpert .pass{color:var(--good)}
.onnxpert .bad,.onnxpert .error,.onnxpert .fail{color:var(--bad)}
.onnxpert .warn,.onnxpert .warning,.onnxpert .refused{color:var(--warn)}
.onnxpert .info{color:var(--info)}
.onnxpert section{border-left:3px solid;padding:.1em 0 .1em .8em;margin:.9em 0}
.onnxpert section>*{color:var(--fg)}.onnxpert section p{margin:.2em 0;white-space:pre-wrap}
.onnxpert table{border-collapse:collapse;margin:.4em 0}
.onnxpert th,.onnxpert td{text-align:left;padding:.15em .9em .15em 0;
border-bottom:1px solid var(--line);background:none}
.onnxpert th{color:var(--dim);font-weight:normal}
.onnxpert .number{text-align:right;font-variant-numeric:tabular-nums}
"""
_ROLES = {Role.GOOD: "good", Role.BAD: "bad", Role.WARN: "warn"}


def page(report: Report) -> str:
    """A whole document, to be opened in a browser or attached to a ticket."""
    title = escape(f"{report.model or 'model'}: {verdict.headline(report)[0]}")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width,initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{title}</title>\n</head><body>\n{fragment(report)}\n</body></html>\n"
    )


def fragment(report: Report) -> str:
    return "\n".join(
        ["<div class='onnxpert'>", f"<style>{_STYLE}</style>", *_body(report), "</div>"]
    )


def _body(report: Report) -> Iterator[str]:
    said, quietly = verdict.headline(report)
    yield f"<h1 class='{_ROLES[layout.mood(report)]}'>{escape(said)}</h1>"
    yield f"<div class='dim'>{escape(_summary(report, quietly))}</div>"
    if report.ok:
        yield from _facts(report)
    for number, finding in enumerate(verdict.ordered(report), start=1):
        yield from _finding(finding, number)
    yield from _proof(report)
    if report.divergence:
        yield from _divergence(report.divergence)
    if report.timings:
        yield f"<div class='dim'>{escape(str(layout.timings(report)))}</div>"
    if report.versions:
        known = ", ".join(f"{name} {version}" for name, version in report.versions.items())
        yield f"<div class='dim'>{escape(known)}</div>"


def _summary(report: Report, quietly: str) -> str:
    subject = [report.model, f"for {report.target}" if report.target else "", quietly]
    return " ".join(each for each in subject if each)


def _facts(report: Report) -> Iterator[str]:
    facts = [("input", each) for each in report.inputs]
    facts += [("output", each) for each in report.outputs]
    facts += [("size", words.span(each)) for each in report.symbols]
    facts += [("repair", each) for each in report.repairs]
    facts += [("sha256", report.sha256)] if report.sha256 else []
    if facts:
        rows = (
            f"<tr><th>{label}</th><td><code>{escape(text)}</code></td></tr>"
            for label, text in facts
        )
        yield f"<table>{''.join(rows)}</table>"


def _finding(finding: Finding, number: int) -> Iterator[str]:
    label = "repaired" if finding.repaired else finding.severity.value
    mood = "good" if finding.repaired else finding.severity.value
    rule = escape(finding.rule)
    yield f"<section class='{mood}' id='finding-{number}'>"
    yield (
        f"<div><b class='{mood}'>{label}[<a class='{mood}' href='#finding-{number}'>{rule}</a>]"
        f"</b> <b>{escape(finding.message)}</b></div>"
    )
    more = f" (and {words.several(finding.count - 1, 'more place')})" if finding.count > 1 else ""
    yield from _place(finding.location, more)
    if finding.repaired:
        yield _remark("repaired", finding.repair or "by onnxpert")
    if finding.help:
        yield _remark("help", finding.help)
    for note in finding.notes:
        yield _remark("note", note)
    yield _remark("more", f"onnxpert explain {finding.rule}")
    yield "</section>"


def _place(location: Location | None, more: str = "") -> Iterator[str]:
    if location:
        yield f"<div class='dim'><code>{escape(words.place(location))}</code>{escape(more)}</div>"
        if code := location.code.strip():
            yield f"<pre><span class='dim'>{location.line} | </span>{escape(code)}</pre>"


def _remark(label: str, text: str) -> str:
    return f"<p><span class='dim'>{label}:</span> {escape(text)}</p>"


def _proof(report: Report) -> Iterator[str]:
    table = proof.table(report)
    if table is None:
        return
    kinds = ["number" if at in table.numeric else "" for at in range(len(table.columns))]
    yield f"<div><b>proof</b> {escape(table.heading)}</div><table>"
    yield f"<tr>{_cells('th', kinds, table.columns)}<th>verdict</th></tr>"
    for row in table.rows:
        said = f"<span class='{row.verdict.value}'>{row.verdict.value}</span>"
        detail = f" {escape(row.detail)}" if row.detail else ""
        yield f"<tr>{_cells('td', kinds, row.texts)}<td>{said}{detail}</td></tr>"
    yield "</table>"
    if table.left_out:
        yield f"<div class='dim'>... and {table.left_out} more that failed</div>"


def _cells(tag: str, kinds: Iterable[str], texts: Iterable[str]) -> str:
    pairs = zip(kinds, texts, strict=True)
    return "".join(f"<{tag} class='{kind}'>{escape(text)}</{tag}>" for kind, text in pairs)


def _divergence(divergence: Divergence) -> Iterator[str]:
    yield "<section class='bad'>"
    yield f"<div><b class='bad'>first difference</b> {escape(layout.node(divergence))}</div>"
    yield from _place(divergence.location)
    if divergence.detail:
        yield _remark("note", divergence.detail)
    yield "</section>"
