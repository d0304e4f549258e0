"""What quantising cost, as two compact tables: accuracy before and after, and the layers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from onnxpert.core.types import Accuracy, Kept, Quantised, QuantisedLayer
from onnxpert.report import words

MOST_ROWS = 8
MOST_LAYERS = 8
_STAYS = {
    None: "quantised",
    Kept.ASKED: "float32, as asked",
    Kept.HURTS: "float32, it would hurt",
    Kept.NO_FORM: "float32, no form for it",
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """A table as every rendering prints it."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numeric: frozenset[int]
    below: str = ""


def heading(quantised: Quantised) -> str:
    """`int8-static: 25.8 kB -> 17.6 kB (68%), error 0.36% of 10.00% allowed`."""
    if not quantised.bytes_after:
        return f"{quantised.scheme}: {quantised.problem or 'no layer was turned'}"
    sizes = f"{words.size(quantised.bytes_before)} -> {words.size(quantised.bytes_after)}"
    part = f"{quantised.bytes_after / quantised.bytes_before:.0%}" if quantised.bytes_before else ""
    said = f"{quantised.scheme}: {sizes} ({part})"
    if quantised.problem:
        return f"{said}, {quantised.problem}"
    return f"{said}, error {words.share(quantised.error)} of {words.share(quantised.bound)} allowed"


def sheets(quantised: Quantised) -> tuple[Sheet, ...]:
    """Those that have something to say."""
    found = (_accuracy(quantised), _layers(quantised))
    return tuple(sheet for sheet in found if sheet.rows)


def _accuracy(quantised: Quantised) -> Sheet:
    rows = sorted(quantised.rows, key=lambda row: (not row.problem, not row.given, -_error(row)))
    cells: tuple[tuple[str, ...], ...] = tuple(
        (
            row.case if row.given else f"{row.case} *",
            row.output,
            words.share(row.before),
            words.share(row.after),
            "-" if row.sqnr is None else f"{row.sqnr:.1f} dB",
            words.error(row.max_abs),
            "-" if row.cosine is None else f"{row.cosine:.5f}",
            row.problem,
        )
        for row in rows[:MOST_ROWS]
    )
    columns: tuple[str, ...] = (
        "case",
        "output",
        "before",
        "after",
        "SQNR",
        "max abs",
        "cosine",
        "problem",
    )
    if not any(row.problem for row in rows):
        columns, cells = columns[:-1], tuple(cell[:-1] for cell in cells)
    below = [] if all(row.given for row in rows) else ["* other sizes: it runs there"]
    if (left := len(rows) - MOST_ROWS) > 0:
        below.append(f"and {left} more with smaller errors")
    return Sheet("accuracy", columns, cells, frozenset(range(2, 7)), ", ".join(below))


def _error(row: Accuracy) -> float:
    return row.after if row.after is not None else 0.0


def _layers(quantised: Quantised) -> Sheet:
    measured = [layer for layer in quantised.layers if layer.own is not None]
    measured.sort(key=_loss, reverse=True)
    cells = tuple(
        (
            layer.name,
            layer.op_type,
            words.share(layer.own),
            words.share(layer.there),
            _STAYS[layer.kept],
        )
        for layer in measured[:MOST_LAYERS]
    )
    below = []
    if (left := len(measured) - MOST_LAYERS) > 0:
        below.append(f"and {left} more that hurt less")
    for kept in (Kept.ASKED, Kept.NO_FORM):
        others = [layer for layer in quantised.layers if layer.kept is kept and layer.own is None]
        if others:
            below.append(f"{_STAYS[kept]}: {_counted(others)}")
    columns = ("layer", "operator", "alone", "in the file", "computes in")
    return Sheet("layers that hurt most", columns, cells, frozenset({2, 3}), "; ".join(below))


def _loss(layer: QuantisedLayer) -> float:
    return layer.own if layer.own is not None else 0.0


def _counted(layers: list[QuantisedLayer]) -> str:
    """`2 LSTM, 1 Conv`."""
    return ", ".join(f"{many} {kind}" for kind, many in Counter(x.op_type for x in layers).items())
