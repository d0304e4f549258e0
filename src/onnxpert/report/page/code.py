"""Source code on the page: an excerpt with its caret, a diff, and the few lines of a rule's page."""

from __future__ import annotations

import re
from collections.abc import Iterator

from onnxpert.core.types import Location
from onnxpert.report.excerpt import shown
from onnxpert.report.page.tag import Markup, join, tag
from onnxpert.report.report import Report

AROUND = 3
_KINDS = {"+": "add", "-": "del", "@": "at"}


def excerpt(location: Location, report: Report, around: int = AROUND) -> Markup:
    """The lines around a place, the place marked and its expression underlined."""
    seen = shown(location, report.excerpts, around)
    if seen is None:
        return Markup("")
    lines = []
    for number, text in seen.lines:
        here = number == location.line
        lines.append(
            tag("span", tag("i", str(number)), text or " ", class_="hit" if here else None)
        )
        if here and seen.caret:
            start, length = seen.caret
            below = " " * start + "^" * length
            lines.append(tag("span", tag("i"), below, class_="caret", aria_hidden="true"))
    return tag("div", *lines, class_="code", role="group", aria_label="source")


def diff(text: str) -> Markup:
    lines = [
        tag("span", line or " ", class_="at" if _names_file(line) else _KINDS.get(line[:1]))
        for line in text.rstrip("\n").split("\n")
    ]
    return tag("div", *lines, class_="code diff")


def _names_file(line: str) -> bool:
    return line.startswith(("--- ", "+++ "))


def markdown(text: str) -> Markup:
    """The Markdown that rules' pages are written in: headings, paragraphs, lists and code."""
    parts = re.split(r"^```\w*\n(.*?)^```\s*$", text, flags=re.MULTILINE | re.DOTALL)
    made = [
        tag("pre", part.rstrip("\n")) if at % 2 else join(_blocks(part))
        for at, part in enumerate(parts)
    ]
    return join(made)


def _blocks(text: str) -> Iterator[Markup]:
    for block in re.split(r"\n\s*\n|(?<=\n)(?=## )|(?<=^)(?=## )", text):
        lines = [line for line in block.strip("\n").split("\n") if line.strip()]
        if lines and lines[0].startswith("## "):
            yield tag("h4", lines.pop(0)[3:])
        if lines and all(re.match(r"\s*[-*] |\s{2,}", line) for line in lines):
            yield tag("ul", *(tag("li", _inline(item)) for item in _items(lines)))
        elif lines:
            yield tag("p", _inline(" ".join(line.strip() for line in lines)))


def _items(lines: list[str]) -> list[str]:
    items: list[str] = []
    for line in lines:
        if start := re.match(r"\s*[-*] ", line):
            items.append(line[start.end() :])
        elif items:
            items[-1] += " " + line.strip()
    return items


def _inline(text: str) -> Markup:
    parts = re.split(r"`([^`]+)`", text)
    return join(tag("code", part) if at % 2 else part for at, part in enumerate(parts))
