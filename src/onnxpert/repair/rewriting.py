"""Codemods over files: a round of changes after the other, until there is nothing left to change."""

from __future__ import annotations

import difflib
import functools
import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from onnxpert.core.collect import collect
from onnxpert.repair import codemods
from onnxpert.repair.codemod import Codemod
from onnxpert.repair.source.change import applied
from onnxpert.repair.source.page import Page
from onnxpert.repair.source.watching import Place, Seen

Contents: TypeAlias = Mapping[Path, str]
Look: TypeAlias = Callable[[Contents], Mapping[Place, list[Seen]]]  # runs the model and notes

_ROUNDS = 12  # a choice of eight is seven choices, each inside the one before
_LINES = re.compile(r"[^\n]*\n|[^\n]+")  # as patch and git see them: a form feed ends none


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


def narrowed(
    contents: Contents, wide: Codemod, look: Look, keeps: Callable[[Codemod], bool]
) -> Codemod | None:
    """A codemod at those of its places where it does no harm, None if there are none."""
    only: frozenset[str] = frozenset()
    tried: set[str] = set()
    while sites := [each for each in _sites(contents, wide, only, look) if each not in tried]:
        # One alone too: elsewhere it may have been in the way of another codemod.
        for site in sites:
            tried.add(site)
            if keeps(replace(wide, only=only | {site})):
                only |= {site}
    return replace(wide, only=only) if only else None


def _sites(contents: Contents, wide: Codemod, only: frozenset[str], look: Look) -> list[str]:
    """Where there is something to change, once it is made at these: one may make room for another."""
    after = rewritten(contents, [replace(wide, only=only)], look) if only else contents
    pages = [Page(str(path), text, look(after)) for path, text in after.items()]
    return list(dict.fromkeys(site for page in pages for site, _ in wide.at(page)))


def places(contents: Contents, wide: Codemod, look: Look) -> list[str]:
    """The statements that it changes in files as they are."""
    return [each for each in _sites(contents, wide, frozenset(), look) if each not in wide.spared]


def with_others(
    found: list[Codemod], refused: list[Codemod], keeps: Callable[[Sequence[Codemod]], bool]
) -> tuple[list[Codemod], list[Codemod]]:
    """Lets in what needs another one: one that is in by now, one that was refused, or all of them.

    It then stands in the place of what was kept of it alone."""
    few = (itertools.combinations(refused, many) for many in (1, 2))
    for together in (*itertools.chain(*few), refused):
        names = {each.name for each in together}
        if not names or not names <= {each.name for each in refused}:
            continue  # one of them is in by now
        rest = [each for each in found if each.name not in names]
        if keeps([*rest, *together]):
            found = [*rest, *together]
            refused = [each for each in refused if each.name not in names]
    return found, refused


def _once(
    path: Path, text: str, chosen: Sequence[Codemod], seen: Mapping[Place, list[Seen]]
) -> str:
    page = Page(str(path), text, seen)
    return applied(page, (change for each in chosen for _, change in each.at(page)))


def diff(before: Contents, after: Contents) -> str:
    """As `git diff` writes it, from where the user stands."""
    parts: list[str] = []
    for path, text in before.items():
        name = os.path.relpath(path) if not os.path.relpath(path).startswith("..") else str(path)
        lines = difflib.unified_diff(
            _LINES.findall(text),
            _LINES.findall(after[path]),
            f"a/{name.lstrip('/')}",
            f"b/{name.lstrip('/')}",
        )
        parts += [
            line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
            for line in lines
        ]
    return "".join(parts)
