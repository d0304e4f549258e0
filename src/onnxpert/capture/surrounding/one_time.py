"""What the clock says, and the system's own chance: the same to every run of one capture.

Paths through a model are brought together where they hold the same. A run that asked the clock would hold
what no other does, and a loop that is timed would have no end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_Asked = tuple[str, str, int]
_HEARD: ContextVar[dict[_Asked, Any] | None] = ContextVar("heard", default=None)


@contextmanager
def one_time() -> Iterator[None]:
    """While on, what one run was told the first time another is told the first time too."""
    if _HEARD.get() is not None:  # a capture within another is a run of that
        yield
        return
    before = _HEARD.set({})
    try:
        yield
    finally:
        _HEARD.reset(before)


class Asking:
    """What one run has asked so far."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str]] = Counter()

    def told(self, what: str, given: Any, ask: Callable[[], Any]) -> Any:
        heard = _HEARD.get()
        if heard is None:
            return ask()
        asked = what, repr(given)
        key = (*asked, self._counts[asked])
        self._counts[asked] += 1
        if key not in heard:
            heard[key] = ask()
        return heard[key]
