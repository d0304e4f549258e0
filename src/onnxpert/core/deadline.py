"""Until when the work under way may go on: one try of many gets only so much time."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Of this thread's own time, so that a busy machine does not decide what is found; with what was given.
_END: ContextVar[tuple[float, float]] = ContextVar("end", default=(math.inf, math.inf))


class OutOfTimeError(BaseException):
    """The time that was given to the work is over; no part of it shall take this for its own failure."""


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """While on, `check` raises as soon as this thread has worked for so long."""
    token = _END.set(min(_END.get(), (time.thread_time() + seconds, seconds)))
    try:
        yield
    finally:
        _END.reset(token)


def is_over() -> bool:
    return time.thread_time() > _END.get()[0]


def check() -> None:
    """Raises OutOfTimeError when the time is over."""
    if is_over():
        raise OutOfTimeError(f"{_END.get()[1]:.0f} s")
