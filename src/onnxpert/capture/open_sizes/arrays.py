"""Arrays of numpy's made of sizes: `np.ones((1, n, n))` stays open, where numpy takes a number.

Where user code gives numpy a size, its name for numpy means torch's own version of numpy while the
model is captured: the same functions, which compute with tensors. What they make is a tensor to
`torch.from_numpy` and its kin. `torch._numpy` is torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable
from types import FrameType
from typing import Any

import torch

from onnxpert.core.source import Owner, ownership

_TAKERS = ("from_numpy", "tensor", "as_tensor")


class _Numpy:
    """Passes for the module: what torch has no version of is numpy's own."""

    def __getattr__(self, name: str) -> Any:
        import torch._numpy as ours

        return getattr(ours, name) if hasattr(ours, name) else getattr(sys.modules["numpy"], name)


class Arrays:
    """Who calls numpy, and what has to be put back."""

    def __init__(self) -> None:
        self._wanted = True
        self._asked: list[tuple[dict[str, Any], str]] = []
        self._swapped: list[tuple[dict[str, Any], str]] = []
        self._takers: dict[str, Callable[..., Any]] = {}

    def ask(self, frame: FrameType) -> bool:
        """Whether user code called numpy there by a name, which is to mean torch's version."""
        caller, numpy = _outside(frame), sys.modules.get("numpy")
        if numpy is None or caller is None or not self._wanted:
            return False
        scope = caller.f_globals
        names = [name for name in caller.f_code.co_names if scope.get(name) is numpy]
        if not names or ownership(caller.f_code.co_filename) <= Owner.LAYER:
            return False
        self._asked += [(scope, name) for name in names]
        return True

    def blame(self, error: Exception) -> None:
        """An array of symbols is one of objects to numpy, which torch takes nothing from."""
        if "numpy.object_" in str(error):
            for frame, _ in traceback.walk_tb(error.__traceback__):
                self.ask(frame)

    def swap(self) -> bool:
        """Between two runs, for a run leaves all names as they were. Whether there was any to swap."""
        asked, self._asked = self._asked, []
        for scope, name in asked:
            scope[name] = _Numpy()
            self._swapped.append((scope, name))
        for name in _TAKERS if asked and not self._takers else ():
            self._takers[name] = getattr(torch, name)
            setattr(torch, name, _taking(getattr(torch, name)))
        return bool(asked)

    def give_up(self) -> bool:
        """Whether numpy was swapped; it is itself again, and stays it."""
        self._wanted = False
        return self.restore()

    def restore(self) -> bool:
        """Whether there was anything to put back."""
        was = bool(self._swapped)
        for scope, name in self._swapped:
            scope[name] = sys.modules["numpy"]
        for name, plain in self._takers.items():
            setattr(torch, name, plain)
        self._swapped.clear()
        self._takers.clear()
        return was


def _outside(frame: FrameType | None) -> FrameType | None:
    """The frame itself, or who called numpy, where it is numpy's."""
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] == "numpy":
        frame = frame.f_back
    return frame


def _taking(plain: Callable[..., Any]) -> Callable[..., Any]:
    def take(*args: Any, **named: Any) -> Any:
        from torch._numpy._ndarray import ndarray

        if args and isinstance(args[0], ndarray):
            return args[0].tensor.to(*args[1:], **named)
        return plain(*args, **named)

    return take
