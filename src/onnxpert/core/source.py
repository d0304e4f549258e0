"""The user's own line: which frame of a stack is theirs, and what is written there."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from itertools import islice, pairwise
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, TypeAlias

from onnxpert.core.types import Location, replace

Frame: TypeAlias = tuple[str, int, str]  # file, line, function


class Spot(tuple[str, int, str]):
    """A frame that still knows which instruction was running: that gives the columns."""

    code: CodeType
    instruction: int


def spot(code: CodeType, line: int, instruction: int) -> Spot:
    found = Spot((code.co_filename, line, code.co_name))
    found.code = code
    found.instruction = instruction
    return found


# How the name of a function ends that was made of a part of the one before the point.
PART = ".<part>"
_OURS = str(Path(__file__).resolve().parents[1]) + os.sep
_LIBRARIES = tuple(
    {
        os.path.realpath(path) + os.sep
        for name in ("stdlib", "platstdlib", "purelib", "platlib")
        if (path := sysconfig.get_paths().get(name))
    }
)
_NEVER = tuple(f"{os.sep}{name}{os.sep}" for name in ("torch", "onnxscript", "onnx_ir"))
_FRAME = re.compile(r'File "([^"]+)", line (\d+), in (\S+)')

_LAYERS = tuple(
    os.sep + os.path.join(*parts) + os.sep
    for parts in (("torch", "nn", "modules"), ("torch", "ao", "nn"))
)
_PLUMBING = ("module.py", "container.py")
# Its classes check what they are given before they compute: `if not valid.all(): raise ValueError`.
DISTRIBUTIONS = os.sep + os.path.join("torch", "distributions") + os.sep


class Owner(IntEnum):
    """Whose a file is, the nearer to the user the more."""

    NOBODY = 0  # Python, torch and ourselves, whom no finding is about
    LAYER = 1  # of torch's
    LIBRARY = 2  # that the user calls
    USER = 3


@functools.cache
def ownership(file: str) -> Owner:
    if file.startswith("<"):  # to look for such a file would ask where the process is
        return Owner.NOBODY
    real = os.path.realpath(file)
    if real.startswith(_OURS):  # by way of a link we would be the user's
        return Owner.NOBODY
    library = "site-packages" in real or "dist-packages" in real
    if library and any(part in real for part in _NEVER):
        is_layer = any(part in real for part in _LAYERS) and not real.endswith(_PLUMBING)
        return Owner.LAYER if is_layer else Owner.NOBODY
    if library:
        return Owner.LIBRARY
    return Owner.NOBODY if real.startswith(_LIBRARIES) else Owner.USER


def is_library(file: str) -> bool:
    """Whether a file is neither the user's own nor unknown."""
    return Owner.NOBODY < ownership(file) < Owner.USER


def choose(frames: Iterable[Frame]) -> Frame | None:
    """The innermost frame of the user's own; else of a library; else of a layer; else none."""
    best: Frame | None = None
    rank = 0
    for frame in frames:  # outermost first
        owner = ownership(frame[0])
        if owner and owner >= rank:
            best, rank = frame, owner
    return best


def location(frames: Sequence[Frame], module: str = "") -> Location | None:
    frame = choose(frames)
    if frame is None:
        return None
    own = [f for f in _before(frame, frames) if ownership(f[0]) == Owner.USER]
    calls = [_written(one) for one, inner in pairwise([*own, frame]) if not _is_part(inner)]
    place = _written(frame)
    return replace(place, module=module, calls=tuple(calls)) if module or calls else place


def asked_within(frames: Sequence[Frame]) -> bool:
    """Whether a library runs, and not the line of the user's that is named in its place."""
    return bool(frames) and is_library(frames[-1][0])


def _is_part(frame: Frame) -> bool:
    """Whether it is a branch or a turn, which nobody called but the function that it stands in."""
    return isinstance(frame, Spot) and frame.code.co_qualname.endswith(PART)


def _before(frame: Frame, frames: Sequence[Frame]) -> Iterable[Frame]:
    """The calls that led to a frame; a library's own are nobody's business but the library's."""
    return frames[: next(i for i, other in enumerate(frames) if other is frame)]


# A call site that many nodes share is looked up once; the code is kept so that its id stays its own.
_WRITTEN: dict[tuple[int, int], tuple[CodeType, Location]] = {}


def _written(frame: Frame) -> Location:
    """What stands at a frame, with the columns of the expression where Python knows them."""
    file, line, function = frame
    if not isinstance(frame, Spot):
        return Location(file, line, "", function, linecache.getline(file, line).strip())
    key = (id(frame.code), frame.instruction)
    known = _WRITTEN.get(key)
    if known is None:
        text = linecache.getline(file, line)
        start, end = _columns(frame, text)
        place = Location(file, line, "", function, text.strip(), start, end)
        known = _WRITTEN[key] = (frame.code, place)
    return known[1]


def written_at(code: CodeType, module: str = "") -> Location:
    """Where a function is written: the line of its first statement's `def`."""
    file, line = code.co_filename, code.co_firstlineno
    text = linecache.getline(file, line).strip()
    return Location(file, line, module, code.co_name, text)


def _columns(frame: Spot, text: str) -> tuple[int, int]:
    """The first column of the running expression and the one past its last, from 1; (0, 0): unknown."""
    found = next(islice(frame.code.co_positions(), frame.instruction // 2, None), None)
    if found is None or found[0] != frame[1] or found[2] is None or found[3] is None:
        return 0, 0
    raw = text.encode()  # Python counts bytes
    start = len(raw[: found[2]].decode(errors="replace"))
    whole = len(text.rstrip())
    end = len(raw[: found[3]].decode(errors="replace")) if found[1] == found[0] else whole
    return (start + 1, end + 1) if start < end <= whole else (0, 0)


@functools.lru_cache(maxsize=4096)
def parse_trace(text: str) -> tuple[Frame, ...]:
    """The frames of a formatted stack, as torch keeps it on a captured node."""
    return tuple((file, int(line), name) for file, line, name in _FRAME.findall(text))


def of_traceback(traceback: TracebackType | None) -> tuple[Frame, ...]:
    frames: list[Frame] = []
    while traceback is not None:
        frames.append(spot(traceback.tb_frame.f_code, traceback.tb_lineno, traceback.tb_lasti))
        traceback = traceback.tb_next
    return tuple(frames)


def of_exception(
    error: BaseException, module: str = "", before: BaseException | None = None
) -> Location | None:
    """Where in the user's code an exception began: the cause at the end of the chain knows best, but
    for one that was being handled `before`."""
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and seen is not before and seen not in chain:
        chain.append(seen)
        seen = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
    for cause in reversed(chain):
        found = location(of_traceback(cause.__traceback__), module)
        if found is not None:
            return found
    return None


def module_of(meta: Mapping[str, Any]) -> str:
    """The module path of a captured node."""
    if "module" in meta:
        return str(meta["module"])
    stack = meta.get("nn_module_stack")
    if not stack:
        return ""
    path = str(list(stack.values())[-1][0])
    return "" if path == "model" else path.removeprefix("model.")


def of_meta(meta: Mapping[str, Any]) -> Location | None:
    """Where a captured node comes from: by our recorder's frames, or by torch.export's text."""
    frames = meta.get("frames") or parse_trace(meta.get("stack_trace") or "")
    return location(frames, module_of(meta))
