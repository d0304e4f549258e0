"""The model run on behind each line on which it raises."""

from __future__ import annotations

import ast
import dis
import logging
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from itertools import islice
from traceback import walk_tb
from types import CodeType, FrameType
from typing import NamedTuple

from onnxpert.capture.examples.rehearsal import rehearse
from onnxpert.capture.open_sizes.numbers import contains
from onnxpert.capture.open_sizes.reach import owners
from onnxpert.capture.stepping.instead import Spot, refuses_at, without
from onnxpert.capture.stepping.stand_ins import NAME, StandIns
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.recompiling import recompiled
from onnxpert.capture.written.swapping import swapped
from onnxpert.core.source import Owner, ownership
from onnxpert.core.types import Loaded

logger = logging.getLogger(__name__)
_MOST = 12  # lines of one model: each is a run
_OF_PYTHONS = re.compile(r"^(list|tuple|string|range object|bytearray|array|pop|deque)\b")
_Line = tuple[str, int]


class _Frame(NamedTuple):
    code: CodeType
    spot: Spot


class Stepped:
    """What was met on the way, filled in as it is gone."""

    def __init__(self) -> None:
        self.any = False
        self.further: list[BaseException] = []  # what is wrong by itself, behind the first
        self.lines: set[_Line] = set()
        self._with_stand_ins: set[str] = set()  # functions in which a value is nobody's

    def tell(self, error: BaseException, function: CodeType, line: int, *, refusal: bool) -> None:
        """In a function that goes on with a stand-in, only what its author raises says anything."""
        name = f"{function.co_filename}:{function.co_firstlineno}"
        is_own = refusal or name not in self._with_stand_ins
        if self.any and is_own and not isinstance(error, NameError):
            self.further.append(error)
        self.any = True
        self.lines.add((function.co_filename, line))
        if not refusal:
            self._with_stand_ins.add(name)


_INSIDE: ContextVar[Stepped | None] = ContextVar("inside", default=None)


def stepped_over() -> frozenset[_Line]:
    """The lines that are gone past just now."""
    inside = _INSIDE.get()
    return frozenset() if inside is None else frozenset(inside.lines)


@contextmanager
def stepping_over(loaded: Loaded, error: BaseException) -> Iterator[Stepped]:
    """While on, the model goes on behind the error, and behind what it raises then."""
    stepped, helper = Stepped(), StandIns()
    token = _INSIDE.set(stepped) if _INSIDE.get() is None else None
    try:
        with ExitStack() as stack:
            met: BaseException | None = error if token is not None else None
            for _ in range(_MOST):
                if met is None or not _step(met, helper, stack, stepped):
                    break
                met = _next(loaded)
            yield stepped
    finally:
        if token is not None:
            _INSIDE.reset(token)


def _step(error: BaseException, helper: StandIns, stack: ExitStack, stepped: Stepped) -> bool:
    """Whether the line gives way."""
    cause = _first(error)
    if _is_torchs(cause):
        return False  # what does not fit is made to fit by who looks at it
    helper.meets(cause)
    for frame in _users(cause):
        for code in _outwards(frame.code, cause):
            refusal = [False]
            new = _recompiled(code, frame.spot, refusal)
            functions = owners([code]) if new is not None else []
            if new is None or not functions:
                continue
            stack.enter_context(swapped(dict.fromkeys(functions, new), helper, NAME))
            stepped.tell(error, code, frame.spot.line, refusal=refusal[0])
            return True
    return False


def _recompiled(code: CodeType, spot: Spot, refusal: list[bool]) -> CodeType | None:
    def instead(function: ast.FunctionDef) -> ast.FunctionDef | None:
        refusal[0] = refuses_at(function, spot)
        return without(function, spot)

    try:
        return recompiled(code, instead, again=True)
    except (UnwritableError, SyntaxError, OSError, TypeError, ValueError):
        logger.debug("%s cannot be gone past", code.co_qualname, exc_info=True)
        return None


def _next(loaded: Loaded) -> BaseException | None:
    try:
        rehearse(loaded)
    except Exception as error:
        return error
    return None


def _first(error: BaseException) -> BaseException:
    """Where an error is handled by another one, the first."""
    while (before := error.__cause__ or error.__context__) is not None and before is not error:
        if before.__traceback__ is None:
            break
        error = before
    return error


def _is_torchs(error: BaseException) -> bool:
    """Whether an operator refuses what it is given: no line of Python's says `raise`."""
    if type(error) not in (RuntimeError, IndexError) or _OF_PYTHONS.search(str(error)):
        return False
    frame = list(walk_tb(error.__traceback__))[-1][0]
    return not any(
        one.offset == frame.f_lasti and one.opname == "RAISE_VARARGS"
        for one in dis.get_instructions(frame.f_code)
    )


def _users(error: BaseException) -> Iterator[_Frame]:
    """The lines of the user's that led to it, the innermost first: what a library is called with it may
    refuse, and what it would have given is no more known there than here."""
    trace, found = error.__traceback__, []
    while trace is not None:
        code = trace.tb_frame.f_code
        if ownership(code.co_filename) >= Owner.USER:
            spot = _spots(trace.tb_frame, trace.tb_lasti)
            found += [_Frame(code, spot)] if spot is not None else []
        trace = trace.tb_next
    yield from reversed(found)


def _spots(frame: FrameType, instruction: int) -> Spot | None:
    where = next(islice(frame.f_code.co_positions(), instruction // 2, None), None)
    if where is None or None in where:
        return None
    line, end_line, column, end_column = where
    assert line is not None
    assert end_line is not None
    assert column is not None
    assert end_column is not None
    return Spot(line, end_line, column, end_column)


def _outwards(code: CodeType, error: BaseException) -> Iterator[CodeType]:
    """What a function is written inside of, where that makes it anew in each call; the function itself."""
    around = [frame.f_code for frame, _ in walk_tb(error.__traceback__)]
    yield from (outer for outer in around if contains(outer, code))
    yield code
