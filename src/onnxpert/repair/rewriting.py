"""Codemods over files: a round of edits after the other, until there is nothing left to change."""

from __future__ import annotations

import ast
import difflib
import functools
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

from onnxpert.core.collect import collect
from onnxpert.repair import codemods
from onnxpert.repair.codemod import Codemod
from onnxpert.repair.source.edit import applied, offsets
from onnxpert.repair.source.page import Page
from onnxpert.repair.source.text import newline
from onnxpert.repair.source.watching import Place, Seen

Contents: TypeAlias = Mapping[Path, str]
Look: TypeAlias = Callable[[Contents], Mapping[Place, list[Seen]]]  # runs the model and notes

_ROUNDS = 4


@functools.cache
def catalogue() -> Mapping[str, Codemod]:
    """Every codemod by its name."""
    return collect(codemods, Codemod, lambda each: (each.name,))


def rewritten(contents: Contents, chosen: Sequence[Codemod], look: Look) -> Contents:
    """The files after these codemods; `look` is asked anew for every round.

    Raises whatever a look at a file raises that a codemod has broken."""
    if not chosen:
        return contents
    for _ in range(_ROUNDS):
        seen = look(contents)
        after = {path: _once(path, text, chosen, seen) for path, text in contents.items()}
        if after == contents:
            break
        contents = after
    return contents


def applicable(contents: Contents, look: Look) -> list[Codemod]:
    """Those that would change something."""
    seen = look(contents)
    return [
        each
        for each in catalogue().values()
        if any(_once(path, text, [each], seen) != text for path, text in contents.items())
    ]


def _once(
    path: Path, text: str, chosen: Sequence[Codemod], seen: Mapping[Place, list[Seen]]
) -> str:
    page = Page(str(path), text, seen)
    edits = [edit for each in chosen for edit in each.edits(page)]
    return _with_torch(applied(text, edits)) if edits else text


def _with_torch(text: str) -> str:
    """`import torch` where the new code needs it and the old one did without."""
    tree = ast.parse(text)
    names = {
        (alias.asname or alias.name).partition(".")[0]
        for node in tree.body
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }
    needed = any(isinstance(node, ast.Name) and node.id == "torch" for node in ast.walk(tree))
    if not needed or "torch" in names:
        return text
    first = next((node for node in tree.body if not _goes_first(node)), None)
    at = offsets(text)[first.lineno - 1] if first else len(text)
    return f"{text[:at]}import torch{newline(text)}{text[at:]}"


def _goes_first(node: ast.stmt) -> bool:
    """A docstring, or an import from the future."""
    docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return docstring or (isinstance(node, ast.ImportFrom) and node.module == "__future__")


def diff(before: Contents, after: Contents) -> str:
    """As `git diff` writes it, from where the user stands."""
    parts: list[str] = []
    for path, text in before.items():
        name = os.path.relpath(path) if not os.path.relpath(path).startswith("..") else str(path)
        lines = difflib.unified_diff(
            text.splitlines(keepends=True),
            after[path].splitlines(keepends=True),
            f"a/{name.lstrip('/')}",
            f"b/{name.lstrip('/')}",
        )
        parts += [
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        ]
    return "".join(parts)
