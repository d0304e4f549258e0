"""Devices that a model names and that are not there: what is asked of them is done where the inputs are.

So the model can be looked at to its end; each line that names one is noted."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils import _pytree as pytree

from onnxpert.capture.flat import fed, owner
from onnxpert.capture.places import user_frames
from onnxpert.core.source import location
from onnxpert.core.types import Loaded, Location

_AWAY = ("cuda", "xpu", "mps", "hip", "hpu", "npu", "mtia", "xla")
_NAMED = re.compile(rf"({'|'.join(_AWAY)})(:\d+)?")
_TYPED = re.compile(rf"torch\.({'|'.join(_AWAY)})\.(\w+Tensor)")
_CALLS: Mapping[str, Any] = {"synchronize": None, "set_device": None, "current_device": 0}


@contextmanager
def at_home(loaded: Loaded) -> Iterator[list[Location]]:
    """While on, no tensor leaves the device of the inputs; gives the lines that would have it."""
    home = _home(loaded)
    places: list[Location] = []

    def note() -> None:
        place = location(user_frames())
        if place is not None and place not in places:  # else torch asks for reasons of its own
            places.append(place)

    with ExitStack() as stack:
        for name, value in _CALLS.items() if home.type != "cuda" else ():
            stack.enter_context(patch.object(torch.cuda, name, _noting(note, value)))
        # torch remembers the module of a device by its name, and was told of another device.
        stack.callback(torch.get_device_module.cache_clear)
        stack.enter_context(_Home(home, note))
        yield places


def _noting(note: Callable[[], None], value: Any) -> Callable[..., Any]:
    def call(*_: Any, **__: Any) -> Any:
        note()
        return value

    return call


def _home(loaded: Loaded) -> torch.device:
    module = owner(loaded.module)
    weights = () if module is None else module.parameters()
    given = (leaf.value for leaf in fed(loaded) if isinstance(leaf.value, torch.Tensor))
    first = next(iter((*weights, *given)), None)
    return torch.device("cpu") if first is None else first.device


class _Home(TorchFunctionMode):
    """Takes the name of another device out of every call."""

    def __init__(self, home: torch.device, note: Callable[[], None]) -> None:
        super().__init__()
        self._home = home
        self._note = note

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in _AWAY and name != self._home.type:  # x.cuda()
            self._note()
            return args[0]
        if name == "to" and len(args) > 1 and type(args[1]) is int:  # x.to(0)
            self._note()
            args = (args[0], self._home, *args[2:])
        args, kwargs = pytree.tree_map(self._here, (args, dict(kwargs or {})))
        return func(*args, **kwargs)

    def _here(self, value: Any) -> Any:
        if isinstance(value, torch.device):
            away = value.type in _AWAY and value.type != self._home.type
        elif isinstance(value, str):
            if (typed := _TYPED.fullmatch(value)) is not None:
                self._note()
                return f"torch.{typed[2]}"
            named = _NAMED.fullmatch(value)
            away = named is not None and named[1] != self._home.type
        else:
            return value
        if not away:
            return value
        self._note()
        return self._home
