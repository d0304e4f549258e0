"""Edits: a span of a file and what stands there afterwards; everything outside stays as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]  # offsets of characters, the end excluded


@dataclass(frozen=True, slots=True)
class Edit:
    """One replacement."""

    span: Span
    new: str


def offsets(content: str) -> list[int]:
    """Where each line begins, as Python counts lines."""
    found = [0]
    for at, character in enumerate(content):
        if character == "\n" or (character == "\r" and content[at + 1 : at + 2] != "\n"):
            found.append(at + 1)
    return found


def span(node: ast.AST, content: str, starts: list[int]) -> Span:
    """Of an expression or a statement; Python counts columns in bytes."""

    def at(line: int, column: int) -> int:
        end = starts[line] if line < len(starts) else len(content)
        text = content[starts[line - 1] : end]
        return starts[line - 1] + len(text.encode()[:column].decode(errors="ignore"))

    return at(node.lineno, node.col_offset), at(node.end_lineno, node.end_col_offset)  # type: ignore[attr-defined]


def applied(content: str, edits: Iterable[Edit]) -> str:
    """The new text; of two edits that overlap, the outer one is made (the inner has its turn later)."""
    made: list[Edit] = []
    for edit in sorted(set(edits), key=lambda each: (each.span[0] - each.span[1], each.span)):
        start, end = edit.span
        if all(end <= other.span[0] or start >= other.span[1] for other in made):
            made.append(edit)
    for edit in sorted(made, key=lambda each: each.span, reverse=True):
        content = content[: edit.span[0]] + edit.new + content[edit.span[1] :]
    return content
