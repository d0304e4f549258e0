"""Quiet around ONNX Runtime's quantiser, which logs, warns and configures logging as it is imported."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quietly() -> Iterator[None]:
    """Nothing of what is said inside gets out, and the user's logging is as it was afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    # Without a handler, `logging.warning` installs one that writes to stderr for good.
    root.handlers[:] = [logging.NullHandler()]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
