"""A unified diff, read back: which lines of which file become what."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+\d+(?:,\d+)? @@")


@dataclass(frozen=True, slots=True)
class Replacement:
    """`count` lines from `line` on become `text`; an insertion replaces none before `line`."""

    line: int
    count: int
    text: str


@dataclass(frozen=True, slots=True)
class Change:
    """What happens to one file."""

    file: str
    replacements: tuple[Replacement, ...]


def changes(diff: str) -> tuple[Change, ...]:
    """The files of a diff, each with its replacements in order."""
    found: list[tuple[str, list[str]]] = []
    for line in diff.splitlines():
        if line.startswith("--- "):
            found.append((_name(line[4:]), []))
        elif found and not line.startswith("+++ "):
            found[-1][1].append(line)
    return tuple(Change(file, tuple(_replacements(body))) for file, body in found)


def _name(text: str) -> str:
    """The file of a `---` line: without a date, and without git's `a/`."""
    return text.split("\t", maxsplit=1)[0].removeprefix("a/")


def _replacements(body: list[str]) -> Iterator[Replacement]:
    at = start = 0
    removed, added = 0, list[str]()
    for line in [*body, "@@"]:
        if line[:1] in ("-", "+"):
            if not removed and not added:
                start = at
            if line[0] == "-":
                removed += 1
                at += 1
            else:
                added.append(line[1:] + "\n")
            continue
        if removed or added:
            yield Replacement(start, removed, "".join(added))
            removed, added = 0, []
        if hunk := _HUNK.match(line):
            # A hunk that removes nothing names the line before it.
            at = int(hunk[1]) + (hunk[2] == "0")
        elif not line.startswith("\\"):
            at += 1
