"""Where the user wrote the forward of their model."""

from __future__ import annotations

import functools
import inspect
from typing import Any

import torch

from onnxpert.core.source import ownership
from onnxpert.core.types import Location

_FORWARD = "forward"


def forward_location(model: Any) -> Location | None:
    """The line of the forward's `def`; None for compiled, generated and torch's own code."""
    function = _function(model)
    try:
        file = inspect.getsourcefile(function)
        lines, first = inspect.getsourcelines(function)
    except (TypeError, OSError):
        return None
    if file is None or not ownership(file):
        return None
    offset = next((i for i, text in enumerate(lines) if text.lstrip().startswith("def ")), 0)
    name = getattr(function, "__qualname__", "")
    return Location(file, first + offset, function=name, code=lines[offset].strip())


def _function(model: Any) -> Any:
    if isinstance(model, torch.jit.ScriptModule | torch.export.ExportedProgram):
        return None
    function = model.forward if isinstance(model, torch.nn.Module) else model
    while isinstance(function, functools.partial):
        function = function.func
    if not inspect.isroutine(function):
        function = getattr(type(function), "__call__", None)  # noqa: B004
    return _undecorated(inspect.unwrap(function)) if callable(function) else None


def _undecorated(function: Any) -> Any:
    """The forward that a decorator keeps, of those that do without `functools.wraps`."""
    plain = getattr(function, "__func__", function)
    if not inspect.isfunction(plain) or plain.__name__ == _FORWARD:
        return function
    kept = inspect.getclosurevars(plain).nonlocals.values()
    found = [each for each in kept if getattr(each, "__name__", "") == _FORWARD]
    return inspect.unwrap(found[0]) if found and inspect.isfunction(found[0]) else function
