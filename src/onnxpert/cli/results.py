"""Where results go: stdout and nothing else, whatever the model, torch or a C library prints."""

from __future__ import annotations

import contextlib
import ctypes
import io
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from typing import Any

STDOUT, STDERR = 1, 2


def show(value: Any) -> None:
    """Print a value that has a plain text and a rich rendering: colour on a terminal only."""
    if sys.stdout.isatty() and find_spec("rich"):  # `doctor` must be able to say that it is missing
        from rich.console import Console

        Console(highlight=False).print(value)
    else:
        write(str(value))


def write(text: str) -> None:
    settle(text + "\n")


def settle(text: str = "") -> None:
    """Hand over what was printed, now: a full disk shows here and not at exit."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has seen enough, as in `onnxpert explain | head`
        abandon()
    except OSError:
        abandon()
        raise


def abandon() -> None:
    """Stop writing to stdout; Python would try again, and complain, when it exits."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def accept_any_character() -> None:
    """Write a name that the terminal's encoding lacks as an escape, rather than fail."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def kept_clean() -> Iterator[None]:
    """While a model runs: its prints go to stderr, and third parties' warnings nowhere.

    What a user needs to know to act is a finding, not a warning of a library's."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_descriptor_moved())
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        if not sys.warnoptions:  # `python -W` was a wish
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
        stack.callback(logging.disable, logging.root.manager.disable)
        logging.disable(logging.WARNING)
        yield


@contextlib.contextmanager
def _descriptor_moved() -> Iterator[None]:
    """Point file descriptor 1 to stderr: C and C++ do not know of `sys.stdout`."""
    sys.stdout.flush()
    try:
        saved = os.dup(STDOUT)
    except OSError:  # closed, as by `>&-`: nothing to keep clean
        yield
        return
    os.dup2(STDERR, STDOUT)
    try:
        yield
    finally:
        _flush_c()
        os.dup2(saved, STDOUT)
        os.close(saved)


def _flush_c() -> None:
    # What C printed may still sit in its own buffer and would come out on the real stdout later.
    with contextlib.suppress(OSError, AttributeError, TypeError):  # no C library to ask, on Windows
        ctypes.CDLL(None).fflush(None)
