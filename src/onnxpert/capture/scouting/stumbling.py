"""What a scouted body stumbled over: read from its line, its exception and the numbers it held."""

from __future__ import annotations

import re
import sys
from typing import Any

import torch

from onnxpert.capture.places import user_frames
from onnxpert.capture.watching.reads import condition
from onnxpert.core.source import DISTRIBUTIONS, Owner, is_library, ownership
from onnxpert.core.types import Asked, Blocker, Location, Read

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_SYMBOLIC = re.compile(r"\bSym(Int|Float|Bool)\b|Cannot cast FakeTensor.* to number")


def branch(place: Location | None) -> Asked:
    return condition(place) or Asked.BRANCH


def stumbled(error: Exception) -> Asked:
    """What a body wanted when it raised: something that takes numbers was given a symbol."""
    kinds = (TypeError, ValueError, RuntimeError)
    about_number = isinstance(error, kinds) and _SYMBOLIC.search(str(error))
    return Asked.NUMBER if about_number else Asked.CALL


def in_library_check() -> bool:
    """Whether a distribution of torch's is looking at what it was given, before any other code is."""
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if ownership(file) > Owner.LAYER:
            return False
        if DISTRIBUTIONS in file:
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def is_librarys() -> bool:
    """Whether the code that is running is a library's, which the user's has called."""
    frames = user_frames()
    return bool(frames) and is_library(frames[-1][0])


def is_at(place: Location, known: Blocker) -> bool:
    there = known.location
    return there is not None and (place.file, place.line) == (there.file, there.line)


def is_read_at(read: Read, known: Blocker) -> bool:
    return read.location is not None and is_at(read.location, known)


def symbols_at(error: Exception, place: Location | None) -> list[Any]:
    """The symbols in the variables of the line that raised."""
    trace = error.__traceback__
    found: list[Any] = []
    while trace is not None and place is not None:
        if (trace.tb_frame.f_code.co_filename, trace.tb_lineno) == (place.file, place.line):
            for name, value in trace.tb_frame.f_locals.items():
                if isinstance(value, _SYMBOLS) and re.search(rf"\b{name}\b", place.code):
                    found += value.node.expr.free_symbols
        trace = trace.tb_next
    return found


def same(found: Blocker, other: Blocker) -> bool:
    at, there = found.location, other.location
    if at is None or there is None:
        return found == other
    return found.asked is other.asked and (at.file, at.line) == (there.file, there.line)
