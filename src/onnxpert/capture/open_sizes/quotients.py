"""`divmod` of a size, or of a number that is not known yet: torch's symbols have both halves of it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch


@contextmanager
def divided_at_once() -> Iterator[None]:
    """While on, a symbol can be given to `divmod`, on either side."""
    both = {
        "__divmod__": lambda one, other: (one // other, one % other),
        "__rdivmod__": lambda one, other: (other // one, other % one),
    }
    with ExitStack() as stack:
        for kind in (torch.SymInt, torch.SymFloat):
            for name, halves in both.items():
                stack.enter_context(patch.object(kind, name, halves, create=True))
        yield
