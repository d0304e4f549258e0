"""HTML, one element at a time: whatever is put in as text is escaped."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape


class Markup(str):
    """Text that is HTML already; only `tag` and `join` make it."""

    __slots__ = ()


def tag(name: str, *inner: str, **attributes: str | float | None) -> Markup:
    """`<name ...>inner</name>`; `class_` is class, None leaves an attribute out, "" has no value."""
    listed = "".join(
        f" {key.rstrip('_').replace('_', '-')}"
        + (f'="{escape(str(value))}"' if value != "" else "")
        for key, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{name}{listed}>{join(inner)}</{name}>")


def join(inner: Iterable[str], between: str = "") -> Markup:
    """Several pieces as one; those that are plain text are escaped."""
    safe = (each if isinstance(each, Markup) else escape(each, quote=False) for each in inner)
    return Markup(between.join(safe))
