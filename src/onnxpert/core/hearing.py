"""Python's own word of every call of a function; a profiler of the user's waits meanwhile."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any


@contextmanager
def hearing(note: Callable[[FrameType], None]) -> Iterator[Callable[[], None]]:
    """While on, `note` is given the frame of each function that begins; or until what this gives is
    called, since Python is slower for as long as it tells."""
    before: Any = sys.getprofile()
    # Python's own profiler is written in C: nothing of it can be handed to `sys.setprofile`.
    pauses = hasattr(before, "disable") and not callable(before)
    is_on = True

    def heard(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            note(frame)

    def stop() -> None:
        nonlocal is_on
        if is_on:
            is_on = False
            sys.setprofile(None if pauses else before)
            if pauses:
                before.enable()

    if pauses:
        before.disable()
    sys.setprofile(heard)
    try:
        yield stop
    finally:
        stop()
