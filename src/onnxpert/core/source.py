"""The user's own line: which frame of a stack is theirs, and what is written there."""

from __future__ import annotations

import functools
import linecache
import os
import re
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

from onnxpert.core.types import Location

Frame: TypeAlias = tuple[str, int, str]  # file, line, function

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


_LAYERS = f"{os.sep}torch{os.sep}nn{os.sep}modules{os.sep}"
_PLUMBING = ("module.py", "container.py")


@functools.cache
def ownership(file: str) -> int:
    """3: the user's own file; 2: a library they call; 1: a layer of torch's; 0: everything else."""
    if file.startswith(("<", _OURS)):
        return 0
    real = os.path.realpath(file)
    library = "site-packages" in real or "dist-packages" in real
    if library and any(part in real for part in _NEVER):
        return int(_LAYERS in real and not real.endswith(_PLUMBING))
    if library:
        return 2
    return 0 if real.startswith(_LIBRARIES) else 3


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
    file, line, function = frame
    return Location(file, line, module, function, linecache.getline(file, line).strip())


@functools.lru_cache(maxsize=4096)
def parse_trace(text: str) -> tuple[Frame, ...]:
    """The frames of a formatted stack, as torch keeps it on a captured node."""
    return tuple((file, int(line), name) for file, line, name in _FRAME.findall(text))


def of_traceback(traceback: TracebackType | None) -> tuple[Frame, ...]:
    frames: list[Frame] = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        frames.append((code.co_filename, traceback.tb_lineno, code.co_name))
        traceback = traceback.tb_next
    return tuple(frames)


def of_exception(error: BaseException, module: str = "") -> Location | None:
    """Where in the user's code an exception began: the cause at the end of the chain knows best."""
    chain: list[BaseException] = []
    seen: BaseException | None = error
    while seen is not None and seen not in chain:
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
