"""`--timeout` and `--max-memory`: the whole command in a child process, from before torch is there."""

from __future__ import annotations

import contextlib
import functools
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.cli.progress import Progress, progress
from onnxpert.core.errors import UsageError
from onnxpert.engine.budget import limits

if TYPE_CHECKING:
    from onnxpert.engine.formats import Report


def options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--timeout",
        type=_read(limits.read_seconds),
        metavar="SECONDS",
        help="end it after that time, and say where it was",
    )
    parser.add_argument(
        "--max-memory",
        type=_read(limits.read_bytes),
        metavar="SIZE",
        help="the same for its memory, such as 8G",
    )


def run(asked: Namespace, work: Callable[[Progress], Report], path: Path | None = None) -> Report:
    """What `work` reports, within the limits if any were given."""
    budget = limits.Budget(asked.timeout, asked.max_memory)
    del asked.timeout, asked.max_memory  # kept here, and no business of the engine's any more
    if not budget:
        with progress(quiet=asked.quiet) as told:
            return work(told)
    from onnxpert.engine.budget import within

    with contextlib.ExitStack() as stack:
        shown = progress(quiet=asked.quiet)
        # The display has a thread, so it may only begin when the child is there.
        begun = functools.cache(lambda: stack.enter_context(shown))
        return within(
            budget,
            work,  # type: ignore[arg-type]
            begun(),
            action=asked.action,
            model=asked.source,
            target=asked.target,
            path=path,
        )


def _read(read: Callable[[object], float]) -> Callable[[str], float]:
    def checked(text: str) -> float:
        try:
            return read(text)
        except UsageError as error:
            raise ArgumentTypeError(f"{error.message}, {error.help}") from error

    return checked
