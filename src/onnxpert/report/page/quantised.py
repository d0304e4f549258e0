"""What quantising cost, on the page: accuracy before and after, and the layers that hurt most."""

from __future__ import annotations

from onnxpert.report import quantised
from onnxpert.report.page.tag import Markup, tag
from onnxpert.report.report import Report


def section(report: Report) -> Markup:
    if report.quantised is None:
        return Markup("")
    inner = [tag("h2", "Quantised"), tag("p", quantised.heading(report.quantised))]
    for sheet in quantised.sheets(report.quantised):
        inner += [tag("p", sheet.title, class_="mute"), _table(sheet)]
        inner += [tag("p", sheet.below, class_="mute")] if sheet.below else []
    return tag("section", *inner, id="quantised")


def _table(sheet: quantised.Sheet) -> Markup:
    kinds = ["number" if at in sheet.numeric else None for at in range(len(sheet.columns))]
    heads = [tag("th", name, class_=kind) for name, kind in zip(sheet.columns, kinds, strict=True)]
    rows = [
        tag("tr", *(tag("td", text, class_=kind) for text, kind in zip(row, kinds, strict=True)))
        for row in sheet.rows
    ]
    whole = tag("table", tag("thead", tag("tr", *heads)), tag("tbody", *rows))
    return tag("div", tag("div", whole, class_="scroll"), class_="card")
