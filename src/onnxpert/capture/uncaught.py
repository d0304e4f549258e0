"""Errors that there are only while a model is looked at, where its own `except` would go on after them.

A symbol has no text and a fake tensor no memory. What is raised for that would lead a model with a `try`
around the line another way than any example does."""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from onnxpert.capture.forking.runs import is_beyond_torch
from onnxpert.capture.surrounding.catching import caught_at
from onnxpert.capture.watching.looking_away import of_users_lines
from onnxpert.capture.watching.speech import users_speak_of
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import Loaded

# Where in memory a tensor lies, no result depends on.
_OF_ADDRESSES = re.compile("data pointer")
# Python itself names the type of an operand: of a plain tensor it says the same.
_OF_OPERANDS = re.compile(r"""['"]FakeTensor['"]""")
# What is tried at the top of a file (`import fast_kernels`) is over when a model runs.
_CATCHES = re.compile(r"^[ \t]+except\b", re.MULTILINE)


class UncatchableError(BaseException):
    """In the place of such an error. No `Exception`: it is none of the model's, which must not catch it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


def catches(loaded: Loaded) -> bool:
    """Whether a function of the user's has an `except`: to watch for one is to run Python at half its
    speed, wherever torch is not at work."""
    return users_speak_of(loaded, _CATCHES)


@contextmanager
def uncatchable(*, on: bool) -> Iterator[None]:
    """While on, no `except` of the user's catches such an error, which is raised from here."""
    if not on:
        yield
        return
    before = sys.gettrace()
    sys.settrace(_entered)
    try:
        yield
    except UncatchableError as stopped:
        raise stopped.error from None
    finally:
        sys.settrace(before)


def itself(error: BaseException) -> Exception:
    """The error that was to be caught, of one that could not be: from there on, the next is watched for."""
    if isinstance(error, UncatchableError):
        sys.settrace(_entered)  # Python ends it where a trace function raises
        error = error.error
    assert isinstance(error, Exception)
    return error


@of_users_lines
def _entered(frame: FrameType, _: str, __: Any) -> Any:
    if not _has_handlers(frame.f_code):
        return None
    frame.f_trace_lines = False
    return _watching


@functools.cache
def _has_handlers(code: CodeType) -> bool:
    return bool(code.co_exceptiontable) and ownership(code.co_filename) is Owner.USER


def _watching(frame: FrameType, event: str, given: Any) -> Any:
    error = given[1] if event == "exception" else None
    if (
        isinstance(error, Exception)
        and not _is_the_models(error)
        and caught_at(frame.f_code.co_filename, frame.f_lineno, type(error))
        and is_beyond_torch(error)
    ):
        raise UncatchableError(error)
    return _watching


def _is_the_models(error: Exception) -> bool:
    """Whether a real tensor would raise it as well, or nothing depends on it."""
    text = str(error)
    if isinstance(error, (TypeError, AttributeError)) and _OF_OPERANDS.search(text):
        return True
    # The one the model may have met by itself, the other it meets here alone, and to no harm.
    return isinstance(error, NotImplementedError) or bool(_OF_ADDRESSES.search(text))
