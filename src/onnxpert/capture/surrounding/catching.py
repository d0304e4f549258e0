"""Errors that the data decide, where the model catches them: a question like that of any `if`.

Python raises where an index is out of range or a divisor is zero. Of a number that only a run of the file
knows nobody can tell; outside of a `try` the file may take it for granted, inside it may not."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch

from onnxpert.capture.places import user_frames
from onnxpert.core.handlers import caught_around
from onnxpert.core.source import Owner, ownership

_DIVISIONS = ("__truediv__", "__floordiv__", "__mod__")
_SYMBOLS = (torch.SymInt, torch.SymFloat)


def ask(holds: Callable[[], Any], error: Exception) -> None:
    """Raises the error where it would be caught, and its condition does not hold."""
    if is_caught(type(error)) and not holds():
        raise error


@contextmanager
def divisions_asked() -> Iterator[None]:
    """While on, a symbol that is divided by is asked whether it is zero, where that would be caught."""
    with ExitStack() as stack:
        for kind in _SYMBOLS:
            for name in _DIVISIONS:
                turned = f"__r{name[2:]}"
                for method, divides in ((name, False), (turned, True)):
                    plain = getattr(kind, method)
                    stack.enter_context(patch.object(kind, method, _asking(plain, divides)))
        yield


def _asking(plain: Callable[..., Any], divides: bool) -> Callable[..., Any]:
    """A division; `divides`: by the symbol that it is a method of."""

    @functools.wraps(plain)
    def divided(symbol: Any, other: Any) -> Any:
        by = symbol if divides else other
        if isinstance(by, _SYMBOLS) and not isinstance(by.node.expr.is_nonzero, bool):
            ask(lambda: by != 0, ZeroDivisionError("division by zero"))
        return plain(symbol, other)

    return divided


def is_caught(error: type[BaseException]) -> bool:
    """Whether a `try` around one of the running lines catches such an error."""
    return any(
        caught_at(file, line, error)
        for file, line, _ in user_frames()
        if ownership(file) >= Owner.LIBRARY
    )


def caught_at(file: str, line: int, error: type[BaseException]) -> bool:
    names = {"", *(kind.__name__ for kind in error.__mro__)}
    return not names.isdisjoint(caught_around(file, line))
