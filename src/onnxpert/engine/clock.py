"""The time each stage takes, told as it passes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias

from onnxpert.core.types import Finding

# Called with the stage, what happened ("start", "done", "note"), the seconds, and a note.
Progress: TypeAlias = Callable[[str, str, float, str], None]

# Told what was found so far, before each stage: a later one may be the last.
hearer: ContextVar[Callable[[tuple[Finding, ...]], None] | None] = ContextVar(
    "hearer", default=None
)


class Clock:
    """Adds up seconds per stage, in the order the stages were first entered."""

    def __init__(self, progress: Progress | None) -> None:
        self.seconds: dict[str, float] = {}
        self._tell = progress or (lambda stage, event, seconds, note: None)
        self.between: Callable[[], None] = lambda: None  # called before each stage

    @contextmanager
    def stage(self, name: str) -> Iterator[list[str]]:
        """Times the block; what is appended to the list is told with the end."""
        notes: list[str] = []
        self.between()
        self.seconds.setdefault(name, 0.0)
        self._tell(name, "start", 0.0, "")
        start = time.perf_counter()
        try:
            yield notes
        finally:
            spent = time.perf_counter() - start
            self.seconds[name] += spent
            self._tell(name, "done", spent, ", ".join(notes))
