"""What libraries hear when they ask whether the model is being exported.

They go another way then, one that decides nothing by the data: most often to the same result. Where the
proof finds that it is not, the model is captured as it runs, and they are told nothing. The user's own
code is always told: it asks because it means to do something else.

`torch._subclasses.FakeTensor` is torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch import _subclasses as subclasses

from onnxpert.core.source import Owner, ownership

_QUESTIONS = ("is_exporting", "is_compiling")


class Audience:
    """Those who ask while a model is recorded."""

    def __init__(self, *, told: bool) -> None:
        self.told = told
        self.asked = False  # by a library

    @contextmanager
    def answered(self) -> Iterator[None]:
        """While on, torch's questions are answered by who asks."""
        with ExitStack() as stack:
            for name in _QUESTIONS:
                plain = getattr(torch.compiler, name)
                stack.enter_context(patch.object(torch.compiler, name, self._asking(plain)))
            if not self.told:
                stack.enter_context(patch.object(subclasses, "FakeTensor", self._stand_in()))
            yield

    def _asking(self, plain: Callable[[], bool]) -> Callable[[], bool]:
        return lambda: plain() and self._tells()

    def _stand_in(self) -> Any:
        """`isinstance(x, FakeTensor)`, which is the same question."""
        plain = subclasses.FakeTensor

        class Asked(type):
            def __instancecheck__(cls, one: Any) -> bool:
                return isinstance(one, plain) and self._tells()

            def __subclasscheck__(cls, one: type) -> bool:
                return issubclass(one, plain)

            def __getattr__(cls, name: str) -> Any:
                return getattr(plain, name)

        return Asked(plain.__name__, (), {})

    def _tells(self) -> bool:
        """Asked once there is something to tell."""
        if ownership(_asker()) is not Owner.LIBRARY:
            return True
        self.asked = True
        return self.told


def _asker() -> str:
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("onnxpert."):
        frame = frame.f_back
    return frame.f_code.co_filename
