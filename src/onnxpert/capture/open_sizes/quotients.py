"""`divmod` of a size, or of a number that is not known yet: torch's symbols have both halves of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch


@contextmanager
def divided_at_once() -> Iterator[None]:
    """While on, a symbol can be given to `divmod`, on either side."""
    kinds: tuple[Any, ...] = (torch.SymInt, torch.SymFloat)
    for kind in kinds:
        kind.__divmod__ = lambda one, other: (one // other, one % other)
        kind.__rdivmod__ = lambda one, other: (other // one, other % one)
    try:
        yield
    finally:
        for kind in kinds:
            del kind.__divmod__, kind.__rdivmod__
