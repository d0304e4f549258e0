"""Several things, listed as a sentence lists them."""

from __future__ import annotations

from collections.abc import Iterable


def listed(things: Iterable[object]) -> str:
    """'a', 'a and b', 'a, b and c'."""
    *first, last = (str(thing) for thing in things)
    return f"{', '.join(first)} and {last}" if first else last
