"""The functions of the user's that a model runs, or is likely to."""

from __future__ import annotations

import gc
import inspect
import sys
from collections.abc import Collection, Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

import torch

from onnxpert.core.source import Owner, ownership

_MOST = 400


def reached(model: torch.nn.Module) -> Iterator[FunctionType]:
    """Those that its layers name, methods of theirs among them, and what these name, each once."""
    waiting: list[tuple[Any, type | None]] = [
        (inspect.getattr_static(kind, "forward", None), kind)
        for kind in dict.fromkeys(map(type, model.modules()))
    ]
    seen: set[tuple[FunctionType, type | None]] = set()
    told: set[FunctionType] = set()
    while waiting and len(told) < _MOST:
        value, kind = waiting.pop()
        for function in _wrapped(value):
            if (function, kind) in seen or ownership(function.__code__.co_filename) <= Owner.LAYER:
                continue
            seen.add((function, kind))
            names = list(_names(function.__code__))
            if function not in told:
                told.add(function)
                waiting += [(function.__globals__.get(name), None) for name in names]
                yield function
            if kind is not None:
                waiting += [(inspect.getattr_static(kind, name, None), kind) for name in names]


def running(code: CodeType, scope: Mapping[str, Any]) -> list[FunctionType]:
    """Those that run the code."""
    found = [each for each in gc.get_referrers(code) if isinstance(each, FunctionType)]
    # After `gc.freeze`, as servers do it, nobody is seen to refer to anything: then by its name.
    return found or [each for each in _named(code, scope) if each.__code__ is code]


def owners(codes: Collection[CodeType]) -> list[FunctionType]:
    """The functions that run any of these, all at once: to find who refers to something is to look at all
    that there is."""
    found = [
        one
        for one in gc.get_referrers(*codes)
        if isinstance(one, FunctionType) and one.__code__ in codes
    ]
    unseen = set(codes).difference(one.__code__ for one in found)
    if unseen:  # as above
        modules = [getattr(module, "__dict__", {}) for module in list(sys.modules.values())]
        scopes = {scope.get("__file__"): scope for scope in modules}
        for code in unseen:
            named = _named(code, scopes.get(code.co_filename, {}))
            found += [one for one in named if one.__code__ is code]
    return found


def _named(code: CodeType, scope: Mapping[str, Any]) -> Iterator[FunctionType]:
    first, *rest = code.co_qualname.split(".")
    value = scope.get(first)
    for name in rest:
        value = inspect.getattr_static(value, name, None)
    return _wrapped(value)


def _wrapped(value: Any) -> Iterator[FunctionType]:
    """A function, and what is below its decorators."""
    while value is not None:
        if isinstance(value, classmethod | staticmethod):
            value = value.__func__
        if isinstance(value, FunctionType):
            yield value
        value = inspect.getattr_static(value, "__wrapped__", None)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for each in code.co_consts:
        if isinstance(each, CodeType):
            yield from _names(each)
