"""Draws random models and exports them; `make mixtures` writes docs/random-models.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from conformance import pool
from conformance.mixtures.page import page, sums
from conformance.mixtures.worker import seeds, serve
from conformance.results import Entry, Outcome, Row
from conformance.worker import Task

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "random-models.md"
COUNT = 400
TOGETHER = 20  # seeds of one task


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code is 0 when every model is right, or refused as it should be."""
    options = _parser().parse_args(arguments)
    rows = _rows(options.first, options.count, options.jobs, options.timeout)
    for row in rows:
        if row.outcome not in (Outcome.RIGHT, Outcome.REFUSED):
            print(f"{row.sample} {row.outcome}: {row.detail}\n{row.call}")
    print("\n".join(sums(rows)))
    if options.out or (options.first, options.count) == (0, COUNT):
        from conformance.mixtures.library import library

        (options.out or PAGE).write_text(page(rows, len(library())), encoding="utf-8")
    return int(any(row.outcome not in (Outcome.RIGHT, Outcome.REFUSED) for row in rows))


def _rows(first: int, count: int, jobs: int, timeout: float) -> list[Row]:
    found: list[Row] = []

    def take(_task: Task, entries: Sequence[Entry]) -> None:
        found.extend(entry for entry in entries if isinstance(entry, Row))
        print(f"{len(found)}/{count}", file=sys.stderr)

    tasks = [
        seeds(start, min(TOGETHER, first + count - start))
        for start in range(first, first + count, TOGETHER)
    ]
    pool.run(tasks, jobs, timeout, take, serve)
    return sorted(found, key=lambda row: row.sample)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--first", type=int, default=0, help="the first seed")
    add("--count", type=int, default=COUNT, help="how many, from there")
    add("--jobs", type=int, default=2, help="child processes at a time")
    add("--timeout", type=float, default=120.0, help="seconds for one model")
    add("--out", type=Path, help="the page; docs/random-models.md for the seeds it is about")
    return parser


if __name__ == "__main__":
    sys.exit(main())
