"""What Python asks of a value that only a run of the file will know, and the answers it is given.

`ShapeEnv.evaluate_expr` is where every truth value of a symbol is asked for. Of data it is
answered by a plan, and beyond the plan with no; of sizes by the sizes of the run. Tried on torch 2.13 and
2.15."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeAlias

import sympy
import torch
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental import sym_node, symbolic_shapes
from torch.fx.experimental.symbolic_shapes import (
    GuardOnDataDependentSymNode,
    free_unbacked_symbols,
)
from torch.utils._sympy.symbol import SymT, symbol_is_type

from onnxpert.capture import recorder
from onnxpert.capture.faking.fake_mode import Fakes
from onnxpert.capture.forking import truths
from onnxpert.capture.forking.continuation import in_a_loop, in_while
from onnxpert.capture.forking.scripted import is_reading
from onnxpert.capture.places import is_endless, user_frames
from onnxpert.capture.reasoning import Frugal, is_otherwise_when_small, symbols_in, worded
from onnxpert.capture.settled import is_settled
from onnxpert.core.source import Frame, Owner, location, ownership
from onnxpert.core.statement import sorts

Expr: TypeAlias = Any  # sympy.Expr
_MACHINERY = frozenset(
    {sym_node.__file__, symbolic_shapes.__file__, torch.__file__, torch.overrides.__file__}
)
_OURS = os.path.dirname(recorder.__file__) + os.sep  # the whole stage asks on the model's behalf
_PRIVATE = f"{os.sep}torch{os.sep}_"
_PATIENCE = 8
_MOST_COMPARISONS = 7  # of a sorted list: four items have 24 orders; Python 3.13 asks twice
_MOST_QUESTIONS = 256  # in one run: a `while` that no answer of ours ends


class EndlessError(RuntimeError):
    """A run that asks and asks."""


@dataclass(frozen=True, slots=True)
class Question:
    """A truth value that decided how the run went on."""

    condition: Expr
    answer: bool
    about_data: bool  # else about sizes of the inputs only
    after: fx.Node | None  # the last call before it
    frames: tuple[Frame, ...]
    module: str
    state: Any  # what the rest of the run depends on
    in_while: bool  # whether the nearest loop around is one that only its condition ends


class Asking(Frugal):
    """A shape environment that is asked, answers by a plan, and keeps the questions."""

    def __init__(
        self, plan: Sequence[bool], thorough: bool, doubted: frozenset[str], **settings: Any
    ) -> None:
        super().__init__(**settings)
        self._thorough = thorough  # libraries may ask about sizes, not only the user's own code
        self._doubted = doubted  # assumptions on sizes that are questions, whoever makes them
        self.left_open = False  # whether one did, and was answered for the example's sizes only
        self.questions: list[Question] = []
        self.settled_once: list[tuple[Expr, tuple[Frame, ...]]] = []
        self.kept_in_mind: list[tuple[Expr, tuple[Frame, ...]]] = []  # decided, and nobody asked
        self.look: Callable[[FrameType], tuple[fx.Node | None, str, Any]] | None = None
        self.numbers_wanted: list[dict[str, Any]] = []  # the globals of who wanted a bare number
        self._plan = plan
        self._known: dict[Expr, bool] = {}

    def evaluate_expr(self, orig_expr: Expr, *rest: Any, **options: Any) -> Any:
        if (answer := self.settled(orig_expr)) is not None:
            return sympy.sympify(answer)
        if self.look is not None and not _is_condition(orig_expr):
            self._note_number(orig_expr)
        if not self._is_open(orig_expr, rest, options):
            spare = rest[3] if len(rest) > 3 else options.get("fallback_value")
            doubted = spare is not None and self._doubted and self.doubts(orig_expr)
            # What torch falls back on is right for all sizes.
            plain = super().evaluate_expr
            return sympy.sympify(spare) if doubted else plain(orig_expr, *rest, **options)
        asker = _asker()
        if asker is None:
            return self._assumed(orig_expr, *rest, **options)
        if free_unbacked_symbols(orig_expr):
            return self._about_data(asker, orig_expr, *rest, **options)
        who = Owner.USER if is_reading(asker) else ownership(asker.f_code.co_filename)
        if who < (Owner.LAYER if self._thorough else Owner.USER):
            self.left_open |= bool(who)
            return self._assumed(orig_expr, *rest, **options)
        return self._about_sizes(asker, orig_expr, *rest, **options)

    def _is_open(self, expr: Expr, rest: Sequence[Any], options: dict[str, Any]) -> bool:
        """Whether it is a truth value that decides something, not a hint torch could do without."""
        size_oblivious = rest[2] if len(rest) > 2 else options.get("size_oblivious", False)
        fallback = rest[3] if len(rest) > 3 else options.get("fallback_value")
        return (
            self.look is not None
            and _is_condition(expr)
            and not size_oblivious
            and fallback is None
            and not options.get("forcing_spec", False)
            and not self._suppress_guards_tls()
            and bool(symbols_in(expr))
        )

    def _note_number(self, expr: Expr) -> None:
        asker = _wanter()
        names = {"float", "int", "math"}.intersection(asker.f_code.co_names)
        least = Owner.LAYER if self._thorough or free_unbacked_symbols(expr) else Owner.USER
        if expr.free_symbols and names and ownership(asker.f_code.co_filename) >= least:
            self.numbers_wanted.append(asker.f_globals)

    # ---- data ------------------------------------------------------------------------------

    def _about_data(self, asker: FrameType, expr: Expr, *rest: Any, **options: Any) -> Any:
        if expr in self._known:
            return sympy.sympify(self._known[expr])
        try:
            if not expr.has(sympy.oo, -sympy.oo):  # torch subtracts infinity from infinity
                return super().evaluate_expr(expr, *rest, **options)
        except GuardOnDataDependentSymNode:
            pass
        if is_settled():
            return sympy.false
        answer = self._planned(asker)
        self._known[expr] = answer
        self._ask(asker, expr, answer, about_data=True)
        if not any(symbol_is_type(s, SymT.UNBACKED_FLOAT) for s in expr.free_symbols):
            # What was answered holds from here on; of numbers that may be NaN nothing follows.
            with suppress(Exception):
                self.guard_or_defer_runtime_assert(expr if answer else sympy.Not(expr), "asked")
        return sympy.sympify(answer)

    # ---- sizes -----------------------------------------------------------------------------

    def _about_sizes(self, asker: FrameType, expr: Expr, *rest: Any, **options: Any) -> Any:
        if expr in self._known:
            return super().evaluate_expr(expr, *rest, **options)
        before = len(self.guards)
        answer = super().evaluate_expr(expr, *rest, **options)
        guarded = len(self.guards) > before
        if guarded or is_otherwise_when_small(expr, bool(answer)):
            self._known[expr] = bool(answer)
            self._ask(asker, expr, bool(answer), about_data=False)
        return answer

    def _assumed(self, expr: Expr, *rest: Any, **options: Any) -> Any:
        """The example's answer, which is a question only if it is known not to hold for all sizes."""
        before = len(self.guards)
        answer = super().evaluate_expr(expr, *rest, **options)
        for guard in self.guards[before:] if self._doubted else ():
            # As it was assumed, on either side: every run shall know the question again.
            for condition, holds in ((guard.expr, True), (sympy.Not(guard.expr), False)):
                if worded(condition) in self._doubted and condition not in self._known:
                    self._known[condition] = holds
                    self._ask(_nearest(), condition, holds, about_data=False)
        return answer

    def assume(self, condition: Expr) -> None:
        super().assume(condition)
        doubted = worded(condition) in self._doubted and condition not in self._known
        if doubted and self.look is not None:
            self._known[condition] = True
            self._ask(_nearest(), condition, True, about_data=False)

    def note(self, asker: FrameType, expr: Expr, answer: bool) -> None:
        """Keeps what was asked about sizes, and not turn by turn, as it was answered."""
        if not in_a_loop(asker):
            self.settled_once.append((expr if answer else sympy.Not(expr), user_frames()))

    def _planned(self, asker: FrameType) -> bool:
        asked = [question for question in self.questions if question.about_data]
        if is_endless(user_frames()):
            raise EndlessError("a function calls itself for as long as only the data know")
        if len(asked) >= _MOST_QUESTIONS:
            raise EndlessError("the same questions come again and again")
        if len(asked) < len(self._plan):
            return self._plan[len(asked)]
        # No, until it seems that no is what a loop goes on for; then yes for a while.
        frames = user_frames()
        same = sum(question.frames == frames for question in asked)
        if same == _MOST_COMPARISONS and (_is_pythons(asker) or sorts(location(frames))):
            raise EndlessError("a list of values that only the data know is put in order")
        return bool(same // _PATIENCE % 2)

    def _ask(self, asker: FrameType, expr: Expr, answer: bool, *, about_data: bool) -> None:
        assert self.look is not None
        after, module, state = self.look(asker)
        frames, turns = user_frames(), in_while(asker)
        if not about_data:
            self.note(asker, expr, answer)
        self.questions.append(
            Question(
                self.spelled_out(expr), answer, about_data, after, frames, module, state, turns
            )
        )


def _is_condition(expr: Expr) -> bool:
    return isinstance(expr, (sympy.core.relational.Relational, sympy.logic.boolalg.BooleanFunction))


def _asker() -> FrameType | None:
    """The Python code that wants to know, if it is some of the model's; None where torch itself does.

    A truth value that Python tests passes through torch's classes for symbols; what a shape function
    asks in C++ does not, and those in Python are in torch's private modules."""
    frame: FrameType | None = sys._getframe(1)
    tested = truth = False
    while frame is not None:
        file = frame.f_code.co_filename
        tested |= file == torch.__file__
        truth |= file == truths.__file__  # `if tensor:`, which we test on the model's behalf
        if is_reading(frame):
            return frame if tested else None
        if not _is_between(file) and not (truth and _PRIVATE in file):
            return frame if tested and _PRIVATE not in file else None
        frame = frame.f_back
    return None


def _is_pythons(frame: FrameType) -> bool:
    """Whether Python's own library asks: `statistics.median` and `heapq.nlargest` compare as sorting does."""
    file = frame.f_code.co_filename
    return ownership(file) is Owner.NOBODY and f"{os.sep}torch{os.sep}" not in file


def _wanter() -> FrameType:
    """The frame that wants a number."""
    frame = sys._getframe(1)
    while _is_between(frame.f_code.co_filename) and frame.f_back is not None:
        frame = frame.f_back
    return frame


def _nearest() -> FrameType:
    """The frame of the model, or of a library that it calls, in which a question comes up."""
    frame = sys._getframe(1)
    while not (ownership(frame.f_code.co_filename) or is_reading(frame)) and frame.f_back:
        frame = frame.f_back
    return frame


def _is_between(file: str) -> bool:
    """Neither the model nor torch's operators: what passes a question on."""
    return file in _MACHINERY or file.startswith(_OURS)


def asking_mode(
    plan: Sequence[bool],
    thorough: bool,
    doubted: frozenset[str],
    kind: type[Asking] = Asking,
) -> FakeTensorMode:
    environment = kind(
        plan,
        thorough,
        doubted,
        allow_scalar_outputs=True,
        allow_dynamic_output_shape_ops=True,
        duck_shape=False,
    )
    return Fakes(shape_env=environment, allow_non_fake_inputs=True)
