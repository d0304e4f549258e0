"""Results that the user's own functions remember (`functools.cache`): what a capture made is forgotten,
and what is asked for a size that varies is worked out in the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from types import ModuleType
from typing import Any
from unittest.mock import patch

import torch

_CACHED: Any = functools._lru_cache_wrapper
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_OURS = __name__.partition(".")[0]


@contextmanager
def forgetting(modules: Iterable[ModuleType]) -> Iterator[None]:
    """A function that was asked something new meanwhile remembers nothing afterwards.

    What it remembers may be made of stand-ins, and would be given to the user's own next call."""
    found = list(_cached(modules))
    known = [(plain, plain.cache_info().misses) for _, _, _, plain in found]
    with ExitStack() as stack:
        for home, name, held, plain in found:
            asked = _asked_anew(plain)
            seen = type(held)(asked) if held is not plain else asked  # a static method of a class
            stack.enter_context(patch.object(home, name, seen))
        try:
            yield
        finally:
            for plain, misses in known:
                if plain.cache_info().misses != misses:
                    plain.cache_clear()


def _asked_anew(plain: Any) -> Callable[..., Any]:
    """The same function; of a number that stands for many, which has no hash, it remembers nothing."""

    @functools.wraps(plain)
    def asked(*args: Any, **named: Any) -> Any:
        stands_in = any(map(_stands_for_many, (*args, *named.values())))
        return (plain.__wrapped__ if stands_in else plain)(*args, **named)

    for name in ("cache_info", "cache_clear", "cache_parameters"):
        setattr(asked, name, getattr(plain, name))
    return asked


def _stands_for_many(value: Any) -> bool:
    if isinstance(value, tuple):
        return any(map(_stands_for_many, value))
    return isinstance(value, _SYMBOLS) or type(value).__module__.partition(".")[0] == _OURS


def _cached(modules: Iterable[ModuleType]) -> Iterator[tuple[Any, str, Any, Any]]:
    """Where it is, its name there, what is there, and the function itself."""
    for module in modules:
        for name, value in list(vars(module).items()):
            homes = list(vars(value).items()) if isinstance(value, type) else [(name, value)]
            for inner, held in homes:
                plain = getattr(held, "__func__", held)
                if isinstance(plain, _CACHED):
                    yield value if isinstance(value, type) else module, inner, held, plain
