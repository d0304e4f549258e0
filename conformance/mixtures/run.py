"""Draws random models and exports them; `make mixtures` writes docs/random-models.md."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from conformance.mixtures.page import page, sums
from conformance.results import Outcome
from conformance.seeds import parser, rows

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "random-models.md"
COUNT = 400


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code is 0 when every model is right, or refused as it should be."""
    options = parser(__doc__, COUNT, PAGE, timeout=120.0).parse_args(arguments)
    found = rows(
        "conformance.mixtures", options.first, options.count, options.jobs, options.timeout
    )
    for row in found:
        if row.outcome not in (Outcome.RIGHT, Outcome.REFUSED):
            print(f"{row.sample} {row.outcome}: {row.detail}\n{row.call}")
    print("\n".join(sums(found)))
    if options.out or (options.first, options.count) == (0, COUNT):
        from conformance.mixtures.library import library

        (options.out or PAGE).write_text(page(found, len(library())), encoding="utf-8")
    return int(any(row.outcome not in (Outcome.RIGHT, Outcome.REFUSED) for row in found))


if __name__ == "__main__":
    sys.exit(main())
