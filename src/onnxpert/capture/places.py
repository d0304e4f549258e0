"""Where in the user's code something happens while their model runs.

`ShapeEnv._get_sloc` and `SLoc` are torch's own; this use was tried on torch 2.13 and 2.15."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType
from typing import Any

from torch._guards import SLoc, TracingContext
from torch.fx.experimental.symbolic_shapes import ShapeEnv

from onnxpert.capture.flat import Flat
from onnxpert.core.source import Frame, ownership, spot

_DEEPEST = 64  # calls of one line, each within the one before
_MODEL_STARTS = Flat.forward.__code__

# The lines of code that does not run as Python (TorchScript's), innermost last.
interpreted: ContextVar[tuple[Frame, ...]] = ContextVar("interpreted", default=())


def user_frames() -> tuple[Frame, ...]:
    """The frames of the running call that belong to the user or a library, outermost first."""
    running = running_frames(sys._getframe(1))
    frames = (spot(each.f_code, each.f_lineno, each.f_lasti) for each in running)
    return (*frames, *interpreted.get())


def running_frames(frame: FrameType | None) -> Sequence[FrameType]:
    """Those of the user or a library from a frame outwards, outermost first; none outside of the model.

    Those above the model (the script that called us) are not where anything in it comes from."""
    frames: list[FrameType] = []
    while frame is not None and frame.f_code is not _MODEL_STARTS:
        if ownership(frame.f_code.co_filename):
            frames.append(frame)
        frame = frame.f_back
    return frames[::-1] if frame is not None else []


def is_endless(frames: Sequence[Frame]) -> bool:
    """Whether one line has called itself so often, where there is a question that only the data answer,
    that no answer is going to end it. Python's own limit comes later, and each call costs more."""
    return len(frames) > _DEEPEST and max(Counter(frames).values()) > _DEEPEST


@dataclass(frozen=True)
class Place(SLoc):
    """What torch remembers of a guard, and the frames that it does not."""

    frames: tuple[Frame, ...] = ()


@contextmanager
def guards_with_places() -> Iterator[None]:
    """While on, every assumption on a size remembers the user's line that made it."""
    environments: Any = ShapeEnv
    plain = environments._get_sloc

    def placed(environment: ShapeEnv, framework_loc: str | None = None) -> Any:
        # Strict torch.export reads bytecode: the user's frames are not on Python's stack then.
        read = TracingContext.extract_stack()
        frames = tuple((f.filename, f.lineno or 0, f.name) for f in read) or user_frames()
        if not frames:
            return plain(environment, framework_loc)
        return Place(framework_loc, None, frames)

    environments._get_sloc = placed
    try:
        yield
    finally:
        environments._get_sloc = plain
