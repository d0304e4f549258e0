"""What a rendering is: a name, the file suffixes that ask for it, and a function from report to text."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass

from onnxpert.report.report import Report


@dataclass(frozen=True)
class Rendering:
    """One way to show a report."""

    name: str
    suffixes: tuple[str, ...]
    about: str
    render: Callable[[Report], str]


def rendering(
    name: str, *, suffixes: tuple[str, ...]
) -> Callable[[Callable[[Report], str]], Rendering]:
    """Make a `Rendering` of a function; its docstring says what it is for."""

    def decorate(render: Callable[[Report], str]) -> Rendering:
        return Rendering(name, suffixes, inspect.getdoc(render) or "", render)

    return decorate
