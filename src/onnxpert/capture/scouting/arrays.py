"""Where an array that NumPy was handed goes on to: the call that no translation of NumPy knows.

That a tensor is made an array is nothing by itself; `torch._numpy` is torch's own NumPy, tried on
torch 2.13 and 2.15."""

from __future__ import annotations

import ast
import builtins
import sys
from types import FrameType, ModuleType
from typing import Any

from onnxpert.core.source import Owner, ownership
from onnxpert.core.statement import handed_on
from onnxpert.core.types import Location


def goes_to(place: Location | None) -> Location | None:
    """The first line that computes on with the array made at a place, and that only Python can run."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and ownership(frame.f_code.co_filename) <= Owner.LAYER:
        frame = frame.f_back
    if frame is None or place is None:
        return None
    calls = ((_steps(called), at) for called, at in handed_on(place))
    return next((at for steps, at in calls if steps and _is_foreign(steps, frame)), None)


def _steps(called: ast.expr) -> tuple[str, ...]:
    """`("np", "linalg", "norm")`; nothing for a method of a value."""
    if isinstance(called, ast.Name):
        return (called.id,)
    before = _steps(called.value) if isinstance(called, ast.Attribute) else ()
    return (*before, called.attr) if before and isinstance(called, ast.Attribute) else ()


def _is_foreign(steps: tuple[str, ...], frame: FrameType) -> bool:
    first = frame.f_globals.get(steps[0])
    if first is None or steps[0] in vars(builtins):
        return False
    home = first.__name__ if isinstance(first, ModuleType) else getattr(first, "__module__", "")
    package = str(home).partition(".")[0]
    if package == "numpy":
        return isinstance(first, ModuleType) and not _is_translated(steps[1:])
    return package not in ("torch", "math") and ownership(_file(home)) == Owner.LIBRARY


def _is_translated(steps: tuple[str, ...]) -> bool:
    import torch._numpy as ours

    found: Any = ours
    for step in steps:
        found = getattr(found, step, None)
    return callable(found)


def _file(module: Any) -> str:
    return str(getattr(sys.modules.get(str(module)), "__file__", None) or "<>")
