"""What a command is: a name, a line of help, its options, and the function that runs it."""

from __future__ import annotations

import inspect
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from dataclasses import dataclass

Options = Callable[[ArgumentParser], None]


@dataclass(frozen=True)
class Command:
    """A word after `onnxpert`. Calling it needs torch perhaps; having it must not."""

    name: str
    summary: str
    order: int  # of the list in `onnxpert --help`
    options: Options
    run: Callable[[Namespace], int]
    about: str


def command(
    name: str, *, summary: str, order: int, options: Options
) -> Callable[[Callable[[Namespace], int]], Command]:
    """Make a `Command` of a function; its docstring is what `onnxpert NAME --help` says."""

    def decorate(run: Callable[[Namespace], int]) -> Command:
        return Command(name, summary, order, options, run, inspect.getdoc(run) or "")

    return decorate
