"""The line at which forward returns: of several, that of this call."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from onnxpert.core.types import Location


@contextmanager
def returning(definition: Location | None) -> Iterator[list[int]]:
    """While on, notes the lines at which the function returns that is defined at a place."""
    lines: list[int] = []
    if definition is None:
        yield lines
        return
    name, before = definition.function.rpartition(".")[2], sys.getprofile()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if event != "return" or code.co_name != name or code.co_filename != definition.file:
            return
        # Of the functions of that name in the file, the one around the line.
        if code.co_firstlineno <= definition.line <= frame.f_lineno:
            lines.append(frame.f_lineno)

    sys.setprofile(note)
    try:
        yield lines
    finally:
        sys.setprofile(before)
