"""The order and the shape of a report's lines, the same with and without colour."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from onnxpert.core.types import Divergence, Finding, Location, Quantised, Severity, Verdict
from onnxpert.report import verdict, words
from onnxpert.report.excerpt import Excerpt, shown
from onnxpert.report.grid import grid
from onnxpert.report.line import Line, Part, Role, line
from onnxpert.report.proof import table
from onnxpert.report.quantised import heading, sheets
from onnxpert.report.report import Report

MOST_LINES = 24  # of a diff
NARROWEST = 24  # columns; a line of code cropped further says nothing
DOTS = "..."
MOST_VALUES = 8  # inputs or outputs listed by name; a model with a cache has a hundred

_VERDICTS = {
    Verdict.PASS: Role.GOOD,
    Verdict.FAIL: Role.BAD,
    Verdict.REFUSED: Role.WARN,
    Verdict.SKIPPED: Role.WARN,
}
_ROLES = {Severity.ERROR: Role.BAD, Severity.WARNING: Role.WARN, Severity.INFO: Role.INFO}


def lines(report: Report, width: int | None = None) -> Iterator[Line]:
    """The whole report; `width` is for what cannot be folded line by line."""
    yield from head(report)
    blocks: list[Iterable[Line]] = [
        finding(each, report.excerpts, width) for each in verdict.ordered(report)
    ]
    if report.verified:
        blocks.append(proof(report, width))
    if report.quantised:
        blocks.append(quantised(report.quantised, width))
    if report.divergence:
        blocks.append(divergence(report.divergence, report.excerpts, width))
    if report.timings:
        blocks.append([timings(report)])
    for block in blocks:
        yield Line()
        yield from block


def head(report: Report) -> Iterator[Line]:
    """The verdict, then what the file takes and gives, and what was done to get it."""
    said, quietly = verdict.headline(report)
    yield line((said, mood(report)), (f"  {quietly}" if quietly else "", Role.FAINT), hang=2)
    if report.ok:
        yield from _values("input", report.inputs)
        yield from _values("output", report.outputs)
        if report.symbols:
            yield _labelled("sizes", ", ".join(words.span(each) for each in report.symbols))
    for sentence in report.repairs:
        yield _labelled("repair", sentence)


def mood(report: Report) -> Role:
    return Role.BAD if not report.ok else Role.GOOD if report.verify else Role.WARN


def finding(
    each: Finding, known: Sequence[Excerpt] = (), width: int | None = None
) -> Iterator[Line]:
    """One finding: headline, place, source line, how it came there, then what helps."""
    label = "repaired" if each.repaired else each.severity.value
    role = Role.GOOD if each.repaired else _ROLES[each.severity]
    message = (f": {each.message}", Role.STRONG)
    yield line((label, role), (f"[{each.rule}]", role), message, hang=2)
    gutter = _gutter(each.location)
    more = f"({words.further(each)})" if each.count > 1 else ""
    if each.location:
        yield from excerpt(each.location, known, more, width)
    elif more:
        yield _remark(gutter, "note", f"seen {words.several(each.count, 'time')}")
    if len(each.modules) > 1:
        yield _remark(gutter, "modules", words.modules(each.modules))
    if each.stack:
        yield _remark(gutter, "called by", "\n".join(map(call, reversed(each.stack))))
    if each.repaired:
        yield _remark(gutter, "repaired", each.repair or "by onnxpert")
    if each.help:
        yield _remark(gutter, "help", each.help)
    for note in each.notes:
        yield _remark(gutter, "note", note)
    if each.diff:
        yield from _diff(each.diff, gutter)
    yield _remark(gutter, "more", f"onnxpert explain {each.rule}")


def call(each: Location) -> str:
    """A call that led to the place: where, and what is written there."""
    code = each.code.strip()
    return words.place(each) + (f": {code}" if code else "")


def excerpt(
    location: Location, known: Sequence[Excerpt] = (), more: str = "", width: int | None = None
) -> Iterator[Line]:
    """`--> model.py:6 in encoder`, then the line behind a gutter, a caret below the expression."""
    gutter = _gutter(location)
    arrow = (" " * gutter + "--> ", Role.LABEL)
    tail = (f" {more}" if more else "", Role.FAINT)
    place = (words.place(location), Role.PLACE)
    yield line(arrow, place, tail, hang=gutter + 4, anywhere=True)
    seen = shown(location, known)
    if seen is None:
        return
    [(number, text)] = seen.lines
    bar = (" " * (gutter + 1) + "|", Role.LABEL)
    yield line(bar)
    code, caret = text, seen.caret
    if caret and width:
        code, caret = _cropped(text, caret, width - gutter - 3)
    yield line((f"{number:>{gutter}} | ", Role.LABEL), code, hang=gutter + 3)
    if caret is None:
        yield line(bar)
    else:
        yield line(bar, " " * (caret[0] + 1), ("^" * caret[1], Role.BAD))


def _cropped(text: str, caret: tuple[int, int], room: int) -> tuple[str, tuple[int, int] | None]:
    """As much of a long line as fits in one row, so that the caret stays below its expression."""
    start, length = caret
    if len(text) <= room:
        return text, caret
    if room < NARROWEST:
        return text, None
    skip = max(0, min(start - len(DOTS), start + length + len(DOTS) - room))
    kept = DOTS + text[skip + len(DOTS) :] if skip else text
    if len(kept) > room:
        kept = kept[: room - len(DOTS)] + DOTS
    return kept, (start - skip, min(length, room - (start - skip)))


def _diff(text: str, width: int) -> Iterator[Line]:
    """The change of the user's own file that cures it, as `patch` takes it."""
    roles = {"+": Role.GOOD, "-": Role.BAD, "@": Role.LABEL}
    lines = text.rstrip("\n").split("\n")
    yield _remark(width, "change", "")
    for each in lines[:MOST_LINES]:
        role = Role.LABEL if each.startswith(("--- ", "+++ ")) else roles.get(each[:1], Role.PLAIN)
        yield line(" " * (width + 3), (each, role), hang=width + 4)
    if (left := len(lines) - MOST_LINES) > 0:
        yield line(" " * (width + 3), (f"... and {left} more lines", Role.FAINT))


def proof(report: Report, width: int | None = None) -> Iterator[Line]:
    """What was compared: a line per comparison, and below it what there is to say about it."""
    shown = table(report)
    if shown is None:
        return
    yield line(("proof", Role.LABEL), f"  {shown.heading}", hang=7)
    heads = tuple(Part(name, Role.FAINT) for name in (*shown.columns, "verdict"))
    cells = [
        (*map(Part, row.texts), Part(row.verdict.value, _VERDICTS[row.verdict]))
        for row in shown.rows
    ]
    first, *drawn = grid([heads, *cells], right=shown.numeric, width=width)
    yield from first
    for row, lines in zip(shown.rows, drawn, strict=True):
        yield from lines
        if row.detail:
            yield line((f"    {row.detail}", Role.FAINT), hang=4)
    if shown.left_out:
        yield line((f"  ... and {shown.left_out} more that failed", Role.FAINT))


def quantised(each: Quantised, width: int | None = None) -> Iterator[Line]:
    """What it cost to quantise the file, and the layers that cost most."""
    role = Role.BAD if each.problem or each.error > each.bound else Role.LABEL
    yield line(("quantised", role), f"  {heading(each)}", hang=11)
    for sheet in sheets(each):
        heads = tuple(Part(name, Role.FAINT) for name in sheet.columns)
        cells = [tuple(map(Part, row)) for row in sheet.rows]
        yield line((f"  {sheet.title}", Role.STRONG))
        for lines in grid([heads, *cells], right=sheet.numeric, width=width):
            yield from lines
        if sheet.below:
            yield line((f"  {sheet.below}", Role.FAINT), hang=2)


def divergence(
    each: Divergence, known: Sequence[Excerpt] = (), width: int | None = None
) -> Iterator[Line]:
    """The first node of the file that computes something else than the model."""
    yield line(("first difference", Role.BAD), (f": {node(each)}", Role.STRONG), hang=2)
    if each.location:
        yield from excerpt(each.location, known, width=width)
    if each.detail:
        yield _remark(_gutter(each.location), "note", each.detail)


def node(each: Divergence) -> str:
    """`Mul node_mul_3, value mul_3`."""
    value = f", value {each.value}" if each.value and each.value != each.node else ""
    return f"{each.op_type} {each.node}".strip() + value


def timings(report: Report) -> Line:
    """Where the time went, in one line."""
    stages = ", ".join(f"{name} {words.seconds(spent)}" for name, spent in report.timings.items())
    total = words.seconds(sum(report.timings.values()))
    return line(("time", Role.LABEL), f"   {stages} ", (f"({total} in all)", Role.FAINT), hang=7)


def _values(label: str, values: tuple[str, ...]) -> Iterator[Line]:
    # One too many is shown rather than counted: "and 1 more" takes the same line.
    shown = values if len(values) <= MOST_VALUES + 1 else values[:MOST_VALUES]
    for at, value in enumerate(shown):
        yield _labelled(label if at == 0 else "", value)
    if left := len(values) - len(shown):
        yield _labelled("", f"... and {left} more")


def _labelled(label: str, text: str) -> Line:
    return line((f"  {label:<8}", Role.LABEL), text, hang=10)


def _remark(width: int, label: str, text: str) -> Line:
    start = " " * (width + 1) + "= "
    # The label's own width would push folded help too far to the right.
    return line((start, Role.LABEL), (f"{label}: ", Role.STRONG), text, hang=len(start) + 2)


def _gutter(location: Location | None) -> int:
    """Wide enough for the line number, so that arrow, bar and remarks stand below each other."""
    return max(2, len(str(location.line))) if location and location.code else 2
