"""What a codemod is: a name, the rules it cures, how safe it is, and the edits it makes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from onnxpert.core.types import Safety
from onnxpert.repair.source.edit import Edit
from onnxpert.repair.source.page import Page


@dataclass(frozen=True)
class Codemod:
    """A change of the user's own source.

    SAFE: the model computes the same, which is proven. UNSAFE: it computes something else where the
    old one was random or did not run, and asks for consent."""

    name: str
    cures: tuple[str, ...]
    safety: Safety
    edits: Callable[[Page], Iterator[Edit]]
    about: str


def codemod(
    name: str, *, cures: tuple[str, ...], safety: Safety = Safety.SAFE
) -> Callable[[Callable[[Page], Iterator[Edit]]], Codemod]:
    """Make a `Codemod` of a function from a page to edits; its docstring is what users read."""

    def decorate(edits: Callable[[Page], Iterator[Edit]]) -> Codemod:
        return Codemod(name, cures, safety, edits, inspect.getdoc(edits) or "")

    return decorate
