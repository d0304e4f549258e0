"""Results that the user's own functions remember (`functools.cache`): what a capture made is forgotten."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_CACHED: Any = functools._lru_cache_wrapper


@contextmanager
def forgetting(modules: Iterable[ModuleType]) -> Iterator[None]:
    """A function that was asked something new meanwhile remembers nothing afterwards.

    What it remembers may be made of stand-ins, and would be given to the user's own next call."""
    known = [(each, each.cache_info().misses) for each in _cached(modules)]
    try:
        yield
    finally:
        for each, misses in known:
            if each.cache_info().misses != misses:
                each.cache_clear()


def _cached(modules: Iterable[ModuleType]) -> Iterator[Any]:
    for module in modules:
        for value in list(vars(module).values()):
            held = list(vars(value).values()) if isinstance(value, type) else [value]
            for each in held:
                plain = getattr(each, "__func__", each)  # of a static method
                if isinstance(plain, _CACHED):
                    yield plain
