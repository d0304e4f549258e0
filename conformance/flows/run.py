"""Draws random programs and exports them; `make flows` writes docs/random-programs.md."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

# run as a file, Python looks beside that file alone
sys.path.insert(0, str(Path(__file__).resolve().parent.parent.parent))

from conformance.flows.page import FINE, page, sums
from conformance.seeds import parser, rows

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "random-programs.md"
COUNT = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code is 0 when every program is right, or refused as it should be."""
    options = parser(__doc__, COUNT, PAGE, timeout=180.0).parse_args(arguments)
    found = rows("conformance.flows", options.first, options.count, options.jobs, options.timeout)
    for row in found:
        if row.outcome not in FINE:
            print(f"{row.sample} {row.outcome}: {row.detail}\n{row.call}")
    print("\n".join(sums(found)))
    if options.out or (options.first, options.count) == (0, COUNT):
        (options.out or PAGE).write_text(page(found), encoding="utf-8")
    return int(any(row.outcome not in FINE for row in found))


if __name__ == "__main__":
    sys.exit(main())
