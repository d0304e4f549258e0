"""The blocks of `try` that are under way, and errors of which only a run of the file knows."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeAlias

import torch

from onnxpert.capture.places import user_frames
from onnxpert.capture.surrounding.catching import is_caught
from onnxpert.capture.written.exits import UnwritableError

Kinds: TypeAlias = tuple[Any, ...]  # what each handler catches: a class, or several
_Doubt: TypeAlias = tuple[type[Exception], torch.Tensor]  # an error, and whether it is raised


class Trying:
    """Those of one run."""

    def __init__(self) -> None:
        self._blocks: list[Kinds] = []
        self._depths: list[int] = []  # of the statements whose value is being worked out
        self._doubts: list[list[_Doubt]] = []
        self._last: list[_Doubt] = []

    @contextmanager
    def block(self, kinds: Kinds) -> Iterator[None]:
        self._blocks.append(kinds)
        try:
            yield
        finally:
            self._blocks.pop()

    def catches(self, error: type[BaseException]) -> bool:
        here = any(issubclass(error, kind) for kinds in self._blocks for kind in kinds)
        # Or in a function that was not rewritten.
        return here or is_caught(error)

    def tried(self, read: Callable[[], Any]) -> Any:
        """A value; what may be raised meanwhile is known afterwards."""
        self._depths.append(len(user_frames()) + 1)
        doubts: list[_Doubt] = []
        self._doubts.append(doubts)
        try:
            value = read()
        finally:
            self._depths.pop()
            self._doubts.pop()
        self._last = doubts
        return value

    def doubt(self, error: type[Exception], fails: Callable[[], torch.Tensor] | None) -> None:
        """An error that a block catches may be raised here."""
        here = bool(self._depths) and len(user_frames()) == self._depths[-1]
        if fails is None or not here:
            raise UnwritableError(
                f"the data decide whether an {error.__name__} is raised and caught"
            )
        self._doubts[-1].append((error, fails()))

    def doubted(self) -> Any:
        """Whether something was raised on the way to the last value."""
        if not self._last:
            return False
        return functools.reduce(torch.logical_or, [fails for _, fails in self._last])

    def caught_by(self, error: Any, kinds: Kinds) -> int:
        """The number of the handler; raises what none of them catches."""
        errors = [error] if error is not None else [kind for kind, _ in self._last]
        found = {_first(kind, kinds) for kind in errors}
        if len(found) > 1:
            raise UnwritableError("several errors may be raised on one line, and are caught apart")
        (number,) = found
        if not number:
            raise errors[0]
        return number


def _first(error: type[BaseException], kinds: Kinds) -> int:
    return next((n for n, kind in enumerate(kinds, 1) if issubclass(error, kind)), 0)
