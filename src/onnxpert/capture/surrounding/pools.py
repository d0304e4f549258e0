"""Pools of threads that do their work at once, in the thread that asks.

A recorder sees what its own thread does. What a pool computes is the same wherever it is computed, so
while a model is captured each task is done as it is handed over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch


@contextmanager
def pools_at_once() -> Iterator[None]:
    with patch.object(ThreadPoolExecutor, "submit", _done):
        yield


def _done(_: ThreadPoolExecutor, task: Callable[..., Any], /, *args: Any, **named: Any) -> Any:
    future: Future[Any] = Future()
    try:
        future.set_result(task(*args, **named))
    except Exception as error:  # whoever asks for the result is told
        future.set_exception(error)
    return future
