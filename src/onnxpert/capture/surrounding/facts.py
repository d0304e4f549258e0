"""What follows from what about a size, in one order: the same on every machine and in every run.

sympy asks the facts that may tell whether a number is whole, or positive, in an order of chance, and makes
up that order for longer than it asks. `sympy.core.assumptions.shuffle` is sympy's own; tried on 1.13 and 1.14."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch


@contextmanager
def facts_in_order() -> Iterator[None]:
    """While on, sympy asks them by their names."""
    with patch("sympy.core.assumptions.shuffle", list.sort):
        yield
