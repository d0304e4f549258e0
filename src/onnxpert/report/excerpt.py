"""The lines around a place in the user's source, kept with the report so that it stands alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from onnxpert.core.types import Location


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Consecutive lines of a file, as they are written there."""

    file: str
    first: int  # number of the first line
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Shown:
    """An excerpt ready to be printed: common indentation gone, the caret where it belongs."""

    lines: tuple[tuple[int, str], ...]  # number and text
    caret: tuple[int, int] | None = None  # start and length below the line of the location


def shown(location: Location, excerpts: Iterable[Excerpt], around: int = 0) -> Shown | None:
    """The location's line and up to `around` lines on each side; None where no text is known."""
    quoted = _quoted(location, excerpts, around)
    # A line without its indentation says nothing of columns.
    columns = bool(quoted) or location.code[:1].isspace() or location.column == 1
    numbered = quoted or [(location.line, location.code.rstrip())]
    wide = [(number, _spaced(text)) for number, text in numbered]
    if not any(text.strip() for _, text in wide):
        return None
    cut = min(len(text) - len(text.lstrip()) for _, text in wide if text.strip())
    lines = tuple((number, text[cut:]) for number, text in wide)
    caret = _caret(location, dict(numbered)[location.line], cut) if columns else None
    return Shown(lines, caret)


def _quoted(location: Location, excerpts: Iterable[Excerpt], around: int) -> list[tuple[int, str]]:
    for each in excerpts:
        at = location.line - each.first
        if each.file != location.file or not 0 <= at < len(each.lines):
            continue
        # The file may have changed since the model was read from it.
        if location.code and each.lines[at].strip() != location.code.strip():
            continue
        start = max(0, at - around)
        numbered = list(enumerate(each.lines[start : at + around + 1], start=each.first + start))
        while numbered[0][0] != location.line and not numbered[0][1].strip():
            numbered.pop(0)
        while numbered[-1][0] != location.line and not numbered[-1][1].strip():
            numbered.pop()
        return numbered
    return []


def _spaced(text: str) -> str:
    return text.expandtabs(4).rstrip()


def _caret(location: Location, text: str, cut: int) -> tuple[int, int] | None:
    """Where the expression is in the printed line; None unless its columns are known and fit."""
    if not 0 < location.column <= len(text.rstrip()):
        return None
    end = max(location.column, min(location.end_column - 1, len(text.rstrip())))
    start, stop = (len(text[:at].expandtabs(4)) - cut for at in (location.column - 1, end))
    return (start, stop - start) if start >= 0 else None
