"""Aligned columns that fold their widest cells rather than outgrow a width."""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterator, Sequence

from onnxpert.report.line import Line, Part

GAP = "  "
NARROWEST = 8  # columns; a cell folded further is no longer read


def grid(
    rows: Sequence[Sequence[Part]], *, right: Collection[int] = (), width: int | None = None
) -> Iterator[tuple[Line, ...]]:
    """Each row as one line, or several where a cell was folded; `right` lists columns of numbers."""
    widths = [max(len(row[at].text) for row in rows) for at in range(len(rows[0]))]
    if width is not None:
        widths = _fitted(widths, right, width)
    for row in rows:
        yield tuple(_lines(row, widths, right))


def _fitted(widths: list[int], right: Collection[int], width: int) -> list[int]:
    """The widths with the widest text columns narrowed until all of them fit."""
    fitted = list(widths)
    while sum(fitted) + len(GAP) * len(fitted) > width:
        at = max((at for at in range(len(fitted)) if at not in right), key=fitted.__getitem__)
        if fitted[at] <= NARROWEST:
            break
        fitted[at] -= 1
    return fitted


def _lines(row: Sequence[Part], widths: list[int], right: Collection[int]) -> Iterator[Line]:
    cells = [
        textwrap.wrap(part.text, wide, break_on_hyphens=False) if len(part.text) > wide else None
        for part, wide in zip(row, widths, strict=True)
    ]
    for depth in range(max(len(cell or "-") for cell in cells)):
        parts = []
        for at, (part, cell) in enumerate(zip(row, cells, strict=True)):
            text = (part.text if depth == 0 else "") if cell is None else "".join(cell[depth:][:1])
            aligned = text.rjust(widths[at]) if at in right else text.ljust(widths[at])
            parts.append(Part(GAP + aligned, part.role))
        yield Line(tuple(parts))
