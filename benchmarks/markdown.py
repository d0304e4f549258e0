"""Tables, footnotes and numbers as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

NOTHING = "-"

Row: TypeAlias = Sequence[str]


@dataclass(slots=True)
class Notes:
    """The footnotes so far; the same words are one note."""

    texts: list[str] = field(default_factory=list)

    def mark(self, text: str) -> str:
        if text not in self.texts:
            self.texts.append(text)
        return f"[^{self.texts.index(text) + 1}]"

    def lines(self) -> list[str]:
        return [f"[^{number}]: {text}" for number, text in enumerate(self.texts, start=1)]


def failed(error: str, notes: Notes) -> str:
    return f"fails{notes.mark(code(error or 'no reason given'))}"


def code(text: str) -> str:
    """Foreign words, kept from being read as Markdown."""
    return f"`{' '.join(text.replace('`', chr(39)).split())}`"


def times(value: float | None) -> str:
    return NOTHING if value is None else f"{value:.2f}x"


def counted(number: int) -> str:
    return f"{number} model" if number == 1 else f"{number} models"


def table(header: Row, rows: Iterable[Row]) -> list[str]:
    rule = ["---", *("--:" for _ in header[1:])]
    return [_line(row) for row in (header, rule, *rows)]


def _line(cells: Row) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
