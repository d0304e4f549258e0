"""The functions that a model runs, for a while with other code in them.

Which they are shows in a run of the model; their source is rewritten, and the code that comes of it
put into the very function objects, so that whoever calls them, however, calls the new one."""

from __future__ import annotations

import ast
import functools
import logging
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from traceback import walk_tb
from types import CodeType, FrameType, FunctionType
from typing import Any

import torch
from torch._ops import OpOverload
from torch.nn.utils import rnn
from torch.utils._python_dispatch import TorchDispatchMode

from onnxpert.capture.open_sizes.numbers import contains
from onnxpert.capture.open_sizes.reach import owners
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.recompiling import recompiled
from onnxpert.capture.written.rewriting import rewritten
from onnxpert.capture.written.syntax import FLOW, is_choice, is_cutting, is_number, is_search
from onnxpert.capture.written.unpacking import is_unpacking
from onnxpert.core.hearing import hearing
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import Location

logger = logging.getLogger(__name__)
_DECIDING = (
    ast.If,
    ast.For,
    ast.While,
    ast.IfExp,
    ast.ListComp,
    ast.GeneratorExp,
    ast.BoolOp,
    ast.Try,
)
_MOST_FUNCTIONS = 60
# What torch says in Python of lists that the model hands it, and could not of those that grow.
_OF_LISTS = frozenset(
    function.__code__ for function in (rnn.pad_sequence, rnn.unpad_sequence, rnn.pack_sequence)
)
_BY_DATA = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}


class _Asking(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Notes the code of the model's functions that ask for data: a value, or how many there are."""

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.codes: set[CodeType] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        # What is inside of `torch.cond` is nobody's function.
        if isinstance(func, OpOverload) and not _BY_DATA.isdisjoint(func.tags):
            frame: FrameType | None = sys._getframe(1)
            while frame is not None and ownership(frame.f_code.co_filename) < Owner.LIBRARY:
                frame = frame.f_back
            self.codes.update((frame.f_code,) if frame is not None else ())
        return func(*args, **(kwargs or {}))


@dataclass(slots=True)
class Ran:
    """The code of the model's functions that ran, and of those that asked for data."""

    every: set[CodeType] = field(default_factory=set)
    asking: set[CodeType] = field(default_factory=set)

    def first(self) -> set[CodeType]:
        """What to rewrite: of too many to rewrite them all, those that ask for data."""
        return self.every if len(self.every) <= _MOST_FUNCTIONS else self.every & self.asking

    def at(self, places: Iterable[Location | None]) -> set[CodeType]:
        """Those with a branch or a loop in which one of the places is."""
        found = (self._at(place) for place in places if place is not None)
        return {code for code in found if code is not None and _new_code(code) is not None}

    def _at(self, place: Location) -> CodeType | None:
        around = [
            code
            for code in self.every
            if code.co_filename == place.file
            and place.line in {line for *_, line in code.co_lines()}
        ]
        return max(around, key=lambda code: code.co_firstlineno, default=None)


@contextmanager
def running() -> Iterator[Ran]:
    """While on, notes the functions of the model's that run."""
    found, asking = Ran(), _Asking()

    def note(frame: FrameType) -> None:
        code = frame.f_code
        if code in _OF_LISTS or ownership(code.co_filename) >= Owner.LIBRARY:
            found.every.add(code)

    with hearing(note), asking:
        yield found
    found.asking = asking.codes


def replacements(codes: set[CodeType]) -> Mapping[FunctionType, CodeType]:
    """The functions that decide something, and what they are to run instead."""
    new = {code: fresh for code in codes if (fresh := _new_code(code)) is not None}
    return {owner: new[owner.__code__] for owner in owners(new)}


def asker(error: BaseException) -> CodeType | None:
    """The function of the model's in which an error came up, if it is as its author wrote it; with one
    that is written inside of another, that one, since nobody holds the inner one for long."""
    running = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    own = [code for code in running if ownership(code.co_filename) >= Owner.LIBRARY]
    if not own or FLOW in own[-1].co_names:
        return None
    return next((outer for outer in own if contains(outer, own[-1])), own[-1])


@contextmanager
def swapped(new: Mapping[FunctionType, CodeType], helper: Any, name: str = FLOW) -> Iterator[None]:
    """While on, the functions run the new code, which knows its helper by that global name."""
    old = {function: function.__code__ for function in new}
    homes = {id(function.__globals__): function.__globals__ for function in new}
    try:
        for home in homes.values():
            home[name] = helper
        for function, code in new.items():
            function.__code__ = code
        yield
    finally:
        for function, code in old.items():
            function.__code__ = code
        for home in homes.values():
            home.pop(name, None)


@functools.lru_cache(512)
def _new_code(code: CodeType) -> CodeType | None:
    try:
        return _compiled(code)
    except (UnwritableError, SyntaxError, OSError, TypeError, ValueError, IndentationError):
        logger.debug("%s stays as it is", code.co_qualname, exc_info=True)
        return None


def _compiled(code: CodeType) -> CodeType | None:
    return recompiled(code, lambda function: rewritten(function) if _any(function) else None)


def _any(function: ast.FunctionDef) -> bool:
    return any(_decides(part) for part in ast.walk(function))


def _decides(part: ast.AST) -> bool:
    known = (is_choice, is_search, is_number, is_cutting, is_unpacking)
    return isinstance(part, _DECIDING) or any(one(part) for one in known)
