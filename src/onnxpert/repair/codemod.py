"""What a codemod is: a name, the rules it cures, how safe it is, and the changes it makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onnxpert.core.types import Safety
from onnxpert.repair.source.change import Change
from onnxpert.repair.source.page import Page


@dataclass(frozen=True)
class Codemod:
    """A change of the user's own source.

    SAFE: the model computes the same, which is proven. UNSAFE: it computes something else where the
    old one was random or did not run, and asks for consent."""

    name: str
    cures: tuple[str, ...]
    safety: Safety
    changes: Callable[[Page], Iterator[Change]]
    about: str
    only: frozenset[str] | None = None  # the statements that it may change; None: all
    spared: frozenset[str] = frozenset()  # those that it may not

    def at(self, page: Page) -> Iterator[tuple[str, Change]]:
        """Its changes, each with the statement that it is in."""
        for node, new in self.changes(page):
            site = page.site(node)
            if site not in self.spared and (self.only is None or site in self.only):
                yield site, (node, new)


def codemod(
    name: str, *, cures: tuple[str, ...], safety: Safety = Safety.SAFE
) -> Callable[[Callable[[Page], Iterator[Change]]], Codemod]:
    """Make a `Codemod` of a function from a page to changes; its docstring is what users read."""

    def decorate(changes: Callable[[Page], Iterator[Change]]) -> Codemod:
        return Codemod(name, cures, safety, changes, inspect.getdoc(changes) or "")

    return decorate
