"""The line at which forward returns: of several, that of this call."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from onnxpert.core.hearing import hearing
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import Location


@contextmanager
def returning(definition: Location | None) -> Iterator[list[int]]:
    """Afterwards has the line at which a function of the user's returned that is defined at a place.

    It is listened for until it begins: its frame tells where it ended."""
    lines: list[int] = []
    if definition is None or ownership(definition.file) is not Owner.USER:
        yield lines
        return
    name, frames = definition.function.rpartition(".")[2], list[FrameType]()

    def note(frame: FrameType) -> None:
        code = frame.f_code
        if code.co_name != name or code.co_filename != definition.file or frames:
            return
        # Of the functions of that name in the file, the one around the line.
        last = max(line or 0 for *_, line in code.co_lines())
        if code.co_firstlineno <= definition.line <= last:
            frames.append(frame)
            stop()

    with hearing(note) as stop:
        yield lines
    lines += [frame.f_lineno for frame in frames]
    for frame in frames:
        with suppress(RuntimeError):  # of a generator, which has not ended
            frame.clear()  # of what it held
