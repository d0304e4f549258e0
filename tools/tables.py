"""Tables of the pages in docs/: made row by row, and put between the two marks of a page."""

from __future__ import annotations

import sys
import time
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


class Table:
    """Rows by their first cell, each printed when it is added, with the seconds it took."""

    def __init__(self, *columns: str) -> None:
        self._width = len(columns)
        self._head = [_line(columns), "| --- |" + " --- |" * (len(columns) - 1)]
        self._rows: dict[str, str] = {}
        self._since = time.monotonic()

    def add(self, *cells: str) -> None:
        if len(cells) != self._width:
            raise ValueError(f"{len(cells)} cells in a table of {self._width} columns: {cells}")
        now = time.monotonic()
        line = self._rows[cells[0]] = _line(cells)
        sys.stdout.write(f"{line}  {now - self._since:.0f} s\n")
        sys.stdout.flush()
        self._since = now

    def put(self, page: str, mark: str, *, update: bool = False) -> None:
        """Into a page of docs/; with `update`, rows of the page that are not made anew stay."""
        path = DOCS / page
        text = path.read_text(encoding="utf-8")
        start, end = f"<!-- {mark} -->\n", f"\n<!-- end of {mark} -->"
        before, found, rest = text.partition(start)
        old, closed, after = rest.partition(end)
        if not found or not closed:
            raise ValueError(f"docs/{page} has no table between the marks {mark!r}")
        rows = self._rows
        if update:
            head, kept = old.splitlines()[:2], old.splitlines()[2:]
            if head != self._head:
                raise ValueError(f"docs/{page} has other columns: make the whole table")
            rows = {_first(line): line for line in kept} | rows
        body = "\n".join((*self._head, *rows.values()))
        path.write_text(f"{before}{start}{body}{end}{after}", encoding="utf-8")


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"


def _first(line: str) -> str:
    return line.removeprefix("| ").partition(" | ")[0]
