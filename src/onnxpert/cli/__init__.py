"""The command line: a file per command, results on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from onnxpert.cli.barrier import MISUSE, guarded


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 fine, 1 findings, 2 misuse or crash."""
    return guarded(argv, _run)


def _run(argv: Sequence[str] | None) -> int:
    from onnxpert.cli.parser import parser

    top = parser()
    if not (sys.argv[1:] if argv is None else argv):
        top.print_help(sys.stderr)
        return MISUSE
    asked = top.parse_args(argv)
    code: int = asked.run(asked)
    return code
