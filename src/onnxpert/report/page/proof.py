"""The proof on the page: how near each output came to its tolerance, as a plot and as a table."""

from __future__ import annotations

import math
from collections.abc import Sequence

from onnxpert.core.types import Row, Verdict
from onnxpert.report import proof, words
from onnxpert.report.page.tag import Markup, join, tag
from onnxpert.report.report import Report

MOST_LANES = 24
LANE, TOP, BOTTOM = 22, 26, 30
LOWEST, HIGHEST = -9.0, 2.0  # decades of error over tolerance that are told apart


def section(report: Report) -> Markup:
    table = proof.table(report)
    if table is None:
        return Markup("")
    inner = [tag("h2", "Proof"), tag("p", table.heading), plot(report.verified), _table(table)]
    if table.left_out:
        inner.append(tag("p", f"... and {table.left_out} more that failed", class_="mute"))
    return tag("section", *inner, id="proof")


def _table(table: proof.Table) -> Markup:
    kinds = ["number" if at in table.numeric else None for at in range(len(table.columns))]
    heads = [tag("th", name, class_=kind) for name, kind in zip(table.columns, kinds, strict=True)]
    rows = [
        tag(
            "tr",
            *(tag("td", text, class_=kind) for text, kind in zip(row.texts, kinds, strict=True)),
            tag(
                "td",
                tag("span", row.verdict.value, class_=f"pill {row.verdict.value}"),
                _detail(row),
            ),
        )
        for row in table.rows
    ]
    head = tag("thead", tag("tr", *heads, tag("th", "verdict")))
    whole = tag("table", head, tag("tbody", *rows))
    return tag("div", tag("div", whole, class_="scroll"), class_="card")


def _detail(row: proof.Cell) -> str:
    return f" {row.detail}" if row.detail else ""


def share(row: Row) -> float | None:
    """The error as a share of what is tolerated: 1 is the limit, 0 is bit for bit the same.

    An element may be off by `atol + rtol * |expected|`, so the smaller of both shares bounds it."""
    if row.verdict not in (Verdict.PASS, Verdict.FAIL) or row.max_abs is None:
        return None
    if row.max_abs == 0:
        return 0.0
    if math.isnan(row.max_abs) or (row.max_rel is not None and math.isnan(row.max_rel)):
        return math.inf
    shares = [
        error / limit
        for error, limit in ((row.max_abs, row.atol), (row.max_rel, row.rtol))
        if error is not None and limit
    ]
    return min(shares, default=math.inf)


def plot(rows: Sequence[Row]) -> Markup:
    """A lane per output and input set, a dot where its error lies; the limit is a line."""
    known = [(row, value) for row in rows if (value := share(row)) is not None]
    if not known:
        return Markup("")
    lanes = _lanes(known)
    height = TOP + LANE * len(lanes) + BOTTOM
    names = [_label(at, name) for at, (name, _) in enumerate(lanes)]
    drawn = [*_axes(height), *(_lane(at, dots) for at, (_, dots) in enumerate(lanes))]
    # Two pictures side by side, places across in per cent: it fits a phone with its letters as large.
    picture = tag(
        "div",
        tag("svg", *names, class_="names", height=height, aria_hidden="true"),
        tag(
            "svg",
            *drawn,
            height=height,
            role="img",
            aria_label="error of each comparison as a share of its tolerance",
        ),
    )
    said = "Error of each comparison as a share of its tolerance, on a logarithmic scale"
    return tag("figure", tag("figcaption", said), picture, class_="plot card")


def _lanes(known: list[tuple[Row, float]]) -> list[tuple[str, list[tuple[Row, float]]]]:
    """One per comparison while they are few, else one per output; the worst first where cut."""
    if len(known) <= MOST_LANES:
        return [(_name(row), [(row, value)]) for row, value in known]
    outputs: dict[str, list[tuple[Row, float]]] = {}
    for row, value in known:
        outputs.setdefault(row.output, []).append((row, value))
    lanes = list(outputs.items())
    if len(lanes) > MOST_LANES:
        lanes.sort(key=lambda lane: -max(value for _, value in lane[1]))
    return lanes[:MOST_LANES]


def _name(row: Row) -> str:
    return f"{row.output} · {row.case}"


def _across(value: float) -> str:
    """Where a share lies, in per cent: exact at the left, then decade by decade."""
    decade = min(max(math.log10(value), LOWEST), HIGHEST) if value > 0 else LOWEST - 1
    return f"{6 + 90 * (decade - LOWEST + 1) / (HIGHEST - LOWEST + 1):.1f}%"


def _axes(height: int) -> list[Markup]:
    bottom = height - BOTTOM + 6
    limit = _across(1.0)
    drawn = [
        tag(
            "rect",
            class_="over",
            x=limit,
            y=TOP - 8,
            width=f"{100 - float(limit[:-1]):.1f}%",
            height=bottom - TOP + 8,
        ),
        tag("line", class_="limit", x1=limit, x2=limit, y1=TOP - 8, y2=bottom),
        tag("text", "tolerance", class_="limit-label", x=limit, y=12, text_anchor="middle"),
    ]
    for power in (-8, -6, -4, -2):
        at = _across(10.0**power)
        drawn.append(tag("line", class_="grid", x1=at, x2=at, y1=TOP - 8, y2=bottom))
        label = join(["10", tag("tspan", str(power).replace("-", "\u2212"), dy=-5, font_size="9")])
        drawn.append(tag("text", label, x=at, y=height - 6, text_anchor="middle"))
    drawn.append(tag("text", "exact", x=_across(0), y=height - 6, text_anchor="middle"))
    return drawn


def _middle(at: int) -> float:
    return TOP + LANE * at + LANE / 2


def _label(at: int, name: str) -> Markup:
    return tag("text", name, tag("title", name), class_="name", x=0, y=_middle(at) + 4)


def _lane(at: int, dots: list[tuple[Row, float]]) -> Markup:
    y = _middle(at)
    drawn = [
        tag(
            "circle",
            tag("title", _tip(row)),
            class_=row.verdict.value,
            cx=_across(value),
            cy=y,
            r=5,
        )
        for row, value in dots
    ]
    return tag("g", tag("line", class_="lane", x1=0, x2="100%", y1=y, y2=y), *drawn)


def _tip(row: Row) -> str:
    sizes = words.sizes(row.sizes)
    return (
        f"{row.output}, {row.case}{f' ({sizes})' if sizes and sizes != row.case else ''}: "
        f"max abs {words.error(row.max_abs)}, max rel {words.error(row.max_rel)}, "
        f"tolerance {words.tolerance(row.rtol, row.atol)}"
    )
