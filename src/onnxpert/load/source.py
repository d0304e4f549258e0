"""What a source is: the text that names a model, and how that text becomes the model."""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from onnxpert.core.errors import UsageError


@dataclass(frozen=True, slots=True)
class Source:
    """A model that was named by a text, with the inputs it is known to take."""

    model: Any
    args: tuple[Any, ...] | None = None
    kwargs: dict[str, Any] | None = None
    dynamic: Mapping[str, Mapping[int, str]] | None = None  # names for the axes that may vary
    notes: tuple[str, ...] = ()  # what was chosen for the user, to be told


@dataclass(frozen=True)
class Scheme:
    """One way to name a model.

    A mark that ends in `:` opens the text (`timm:`), one that begins with `.` is the extension
    of the file it names (`.pt2`), and the empty mark takes what is left."""

    marks: tuple[str, ...]
    open: Callable[[str], Source]
    about: str


def source(*marks: str) -> Callable[[Callable[[str], Source]], Scheme]:
    """Make a `Scheme` of a function from the text (without its opening mark) to a `Source`."""

    def decorate(open_text: Callable[[str], Source]) -> Scheme:
        return Scheme(marks, open_text, inspect.getdoc(open_text) or "")

    return decorate


def open_source(text: str, known: Mapping[str, Scheme]) -> Source:
    for mark, scheme in known.items():
        if mark.endswith(":") and text.startswith(mark):
            return scheme.open(text.removeprefix(mark))
    for mark, scheme in known.items():
        if mark.startswith(".") and re.search(re.escape(mark) + r"(:[\w.]*)?$", text):
            return scheme.open(text)
    if "" in known:
        return known[""].open(text)
    raise UsageError(f"`{text}` names no model", f"known are {', '.join(sorted(known))}")


def did_you_mean(name: str, known: Iterable[str], what: str) -> str:
    """The names closest to a wrong one, or where to look."""
    names = list(known)
    close = difflib.get_close_matches(name, names, 5, cutoff=0.5)
    if close:
        return "did you mean " + ", ".join(f"`{each}`" for each in close) + "?"
    listed = ", ".join(f"`{each}`" for each in names[:12])
    more = f" and {len(names) - 12} more" if len(names) > 12 else ""
    return f"{what}: {listed}{more}" if names else f"{what}: none"
