"""A report in a terminal: coloured, folded to its width, and as readable without colour."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rich.cells import chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from onnxpert.report.line import Line, Role

# The sixteen colours of the terminal's own theme, so that light and dark ones both work.
STYLES = {
    Role.PLAIN: "",
    Role.STRONG: "bold",
    Role.FAINT: "dim",
    Role.GOOD: "bold green",
    Role.BAD: "bold red",
    Role.WARN: "bold yellow",
    Role.INFO: "bold cyan",
    Role.PLACE: "cyan",
    Role.LABEL: "blue",
}
NARROW = 20  # columns; below this a hanging indent leaves no room for text


class Painted:
    """Draws lines on a rich console, asking for them once the width is known."""

    def __init__(self, lines: Callable[[int], Iterable[Line]]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for each in self._lines(options.max_width):
            yield from fold(each, console, options.max_width)


def fold(each: Line, console: Console, width: int) -> Iterator[Text]:
    """The line in colour, on as many rows as it needs, all but the first indented."""
    whole = Text.assemble(*((part.text, STYLES[part.role]) for part in each.parts))
    hang = each.hang if width - each.hang >= NARROW else 0
    indent = ""
    for text in whole.split("\n", allow_blank=True):
        rest = text
        while True:
            room = width - len(indent)
            cut = _cut(rest, console, room, anywhere=each.anywhere)
            row, rest = rest[:cut], rest[cut:]
            row.rstrip()
            yield _row(Text(indent) + row)
            indent = " " * hang
            rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
            if not rest.plain:
                break


def _cut(text: Text, console: Console, room: int, *, anywhere: bool) -> int:
    """How many characters of a text go on its first row."""
    if not text.plain:
        return 0
    if anywhere:
        return len(chop_cells(text.plain, room)[0])
    # rich drops the spaces at which it breaks, so measure what it kept.
    return max(len(text.wrap(console, room)[0].plain), 1)


def _row(text: Text) -> Text:
    text.no_wrap = True
    text.overflow = "ignore"
    return text
