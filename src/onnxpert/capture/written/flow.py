"""Who rewritten code calls: does what Python would where the answer is known, and else writes it down."""

from __future__ import annotations

import builtins
import functools
import operator
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import (
    free_unbacked_symbols,
    statically_known_true,
)

from onnxpert.capture.guards import keep_in_mind
from onnxpert.capture.kinds import same
from onnxpert.capture.open_sizes.keyed import Table
from onnxpert.capture.open_sizes.turns import note_turn
from onnxpert.capture.places import user_frames
from onnxpert.capture.reasoning import has_quotient, is_otherwise_when_small, of_one_number
from onnxpert.capture.settled import is_settled
from onnxpert.capture.written import choices, places, sequences, wordings
from onnxpert.capture.written.counter import Counter
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.functions import Functions
from onnxpert.capture.written.held import UNDEFINED, Grown, is_record
from onnxpert.capture.written.in_turn import last_in_turn, truth_in_turn
from onnxpert.capture.written.lists import numbers_of
from onnxpert.capture.written.pages import PageRecorder
from onnxpert.capture.written.sequences import Steps, steps
from onnxpert.capture.written.slots import FirstTurnError
from onnxpert.capture.written.texts import OpenText, entry, is_asked_for
from onnxpert.capture.written.trying import Trying
from onnxpert.capture.written.tuples import unzipped
from onnxpert.capture.written.units import Units, Variables
from onnxpert.core.source import location, of_traceback
from onnxpert.core.statement import raises
from onnxpert.core.types import Location, Precondition

Function = Callable[..., Any]
State = tuple[Function, Function]  # reads the variables, and writes them
_DEEPEST = 32  # times that a branch is on a side of itself
_NOTHING: State = (tuple, lambda _: None)
_sym: Any = torch  # whose functions of symbols have no types
_MOST_TURNS = 4000  # done as Python does them


class Flow:
    """One run of a model whose functions were rewritten."""

    def __init__(self, recorder: PageRecorder, root: torch.nn.Module) -> None:
        self.recorder = recorder
        self.units = Units(recorder, root)
        self.preconditions: list[Precondition] = []
        self.formatted = wordings.formatted
        self._trying = Trying()
        self.trying, self.tried = self._trying.block, self._trying.tried
        self.doubted, self.caught_by = self._trying.doubted, self._trying.caught_by
        self._open = Functions(self).table()
        self._around: list[Location | None] = []  # the branches that are open, outermost first

    # ---- variables -------------------------------------------------------------------------

    def held(self, read: Function) -> Any:
        try:
            return read()
        except (NameError, AttributeError):
            return UNDEFINED

    def put(self, owner: Any, attribute: str, value: Any) -> None:
        if isinstance(owner, torch.nn.Module):
            self.units.assigned.add((id(owner), attribute))
        if value is UNDEFINED:
            with suppress(AttributeError):
                delattr(owner, attribute)
        elif getattr(owner, attribute, UNDEFINED) is not value:
            setattr(owner, attribute, value)

    def field(self, owner: Function, read: Function) -> Any:
        """An attribute of a variable; that of a record is carried with it."""
        return None if is_record(self.held(owner)) else self.held(read)

    def put_field(self, owner: Any, attribute: str, value: Any) -> None:
        if not is_record(owner):
            self.put(owner, attribute, value)

    def given(self, value: Any) -> Any:
        many = (
            value if isinstance(value, (list, tuple)) and not isinstance(value, Grown) else [value]
        )
        if any(one is UNDEFINED for one in many):
            raise UnwritableError("a variable is read that a loop or a branch leaves open")
        return value

    def listed(self, value: Any) -> Any:
        """`value.tolist()`."""
        plain = not isinstance(value, torch.Tensor) or is_settled()
        return value.tolist() if plain else numbers_of(value)

    def unzipped(self, rows: Any) -> Any:
        return unzipped(rows)

    def builtin(self, function: Any) -> Any:
        try:
            return self._open.get(function, function)
        except TypeError:  # a name of the model's own, and what it holds has no hash
            return function

    def item(self, held: Any, place: Any) -> Any:
        """`held[place]`."""
        if wordings.is_worded(held, place, self.recorder.worded):
            self.assume("KeyError")
            return wordings.entry(held, place, self.recorder.worded, self.chosen)
        if isinstance(place, OpenText) and isinstance(held, dict):
            self.assume("KeyError", lambda: self.negated(self.contained(place, held)))
            return entry(held, place, self.chosen)
        if isinstance(held, torch.Tensor) and isinstance(place, Grown) and place.number:
            return held[place.rows]
        if not choices.is_open(held, place):
            return held[place]
        if not choices.is_within(held, place):
            missing = (
                "KeyError" if isinstance(held, dict) else "IndexError: list index out of range"
            )
            self.assume(missing, lambda: choices.is_beyond(held, place))
        return choices.picked(held, place, self.chosen)

    def part(self, held: Any, *ends: Any) -> Any:
        """`held[start:stop:step]`."""
        place = slice(*ends)
        if choices.is_open_part(held, place):
            return choices.part(held, place, self.chosen)
        return held[place]

    def contained(self, one: Any, held: Any) -> Any:
        """`one in held`."""
        if not choices.is_asked_for(one, held) and not is_asked_for(one, held):
            return one in held
        return self.either(*(functools.partial(operator.eq, one, other) for other in held))

    def same(self, value: Any, number: int) -> Any:
        """`value is True`, and whatever else it may be."""
        if isinstance(value, torch.Tensor) and value.dtype is torch.bool and not value.dim():
            raise UnwritableError("whether a truth is a tensor or Python's own is not known")
        return same(value, number)

    def searched(self, method: str, held: Any, one: Any) -> Any:
        """`held.count(one)` and `held.index(one)`."""
        if places.is_open(held, one):
            return places.found(method, held, one, self.assume)
        return getattr(held, method)(one)

    def got(self, held: Any, *args: Any) -> Any:
        """`held.get(...)`."""
        plain = type(held) in (dict, Table)
        if plain and len(args) in (1, 2) and isinstance(args[0], torch.SymInt):
            return choices.found(held, args[0], args[1] if args[1:] else None, self.chosen)
        return held.get(*args)

    def extended(self, held: Any, parts: Any) -> Any:
        """What is left to append after `held.extend(parts)`."""
        if isinstance(parts, Steps):
            return parts
        held.extend(parts)
        return ()

    def collected(self, parts: Any, least: int = 0) -> list[Any]:
        """`list(parts)`, of which there are so many at least, or Python raises."""
        found: list[Any] = self.builtin(list)(parts)
        if isinstance(found, Grown):
            sequences.holds_at_least(found.count, least)
        elif len(found) < least:
            raise ValueError(f"not enough values to unpack (expected at least {least})")
        return found

    # ---- truth -----------------------------------------------------------------------------

    def truth(self, value: Any) -> Any:
        """True or False where that is known; else a tensor or a symbol that is it."""
        if isinstance(value, Grown):
            value = value.count
        if isinstance(value, torch.Tensor):
            return self._truth_of_tensor(value)
        if isinstance(value, (torch.SymInt, torch.SymFloat)):
            value = value != 0
        if not isinstance(value, torch.SymBool):
            return bool(value)
        if (known := of_one_number(value.node.expr)) is not None:
            return known
        for answer, condition in ((True, value), (False, _sym.sym_not(value))):
            if statically_known_true(condition) and not _is_open(value, answer):
                return answer
        return False if free_unbacked_symbols(value) and is_settled() else value

    def _truth_of_tensor(self, value: torch.Tensor) -> Any:
        if value.numel() != 1:
            return bool(value)
        if (known := self.recorder.known(value)) is not None:
            return self.truth(known)  # which may be about a size
        if is_settled():
            return bool(value)
        value = self.recorder._stand_in(value)
        if value.dtype is not torch.bool:
            value = value != 0
        return value.reshape([]) if value.dim() else value

    def negated(self, value: Any) -> Any:
        truth = self.truth(value)
        if isinstance(truth, bool):
            return not truth
        if isinstance(truth, torch.SymBool):
            return _sym.sym_not(truth)
        made = truth.logical_not()
        for answer in (True, False):
            self.recorder.absences.follows(made, answer, truth, not answer)
        return made

    def absent(self, value: Any) -> Any:
        """`value is None`."""
        found = self.recorder.absences.is_none(self.given(value))
        if isinstance(found, bool):
            return found
        truth, when = found
        return truth if when else self.negated(truth)

    def present(self, value: Any) -> Any:
        return self.negated(self.absent(value))

    def both(self, *parts: Function) -> Any:
        return truth_in_turn(self, parts, True)

    def either(self, *parts: Function) -> Any:
        return truth_in_turn(self, parts, False)

    def last_of(self, part: Any) -> Any:
        return last_in_turn(self, part)

    def aside(self, truth: Any, yes: Function, no: Function) -> Any:
        """A branch that changes no variables."""
        return self._branch(truth, (yes, no), Variables(*_NOTHING))

    def chosen(self, test: Any, yes: Function, no: Function) -> Any:
        return self.branch(test, yes, no, _NOTHING)

    def assured(self, test: Any, text: Function) -> None:
        truth = self.truth(test)
        if truth is True:
            return
        if truth is False:
            raise AssertionError(text())
        said = text()
        said = said if isinstance(said, str) else "AssertionError"
        self.assume(said if said.startswith("AssertionError") else f"AssertionError: {said}")

    def assume(self, text: str, fails: Function | None = None) -> None:
        """The model raises at this line for some inputs, and the file does not."""
        error = getattr(builtins, text.partition(":")[0])
        if self._trying.catches(error):
            self._trying.doubt(error, fails)
            return
        at = location(user_frames(), self.recorder.modules[-1])
        self.preconditions.append(Precondition(True, text, at, at))

    # ---- statements ------------------------------------------------------------------------

    def branch(self, test: Any, yes: Function, no: Function, state: State) -> Any:
        truth = self.truth(test)
        if isinstance(truth, bool):
            return (yes if truth else no)()
        return self._branch(truth, (yes, no), Variables(*state))

    def _branch(self, truth: Any, sides: Sequence[Function], variables: Variables) -> Any:
        asked_at = location(user_frames(), self.recorder.modules[-1])
        if asked_at is not None and self._around.count(asked_at) > _DEEPEST:
            raise RecursionError("a function calls itself on a side of its own branch")

        def refused(side: bool, error: Exception) -> None:
            if self._trying.catches(type(error)) and not isinstance(error, UnwritableError):
                raise UnwritableError("what a side raises may be caught") from error
            raised = location(of_traceback(error.__traceback__))
            if isinstance(error, UnwritableError) or raised is None or not raises(raised):
                raise error
            text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            self.preconditions.append(Precondition(not side, text, asked_at, raised))

        self._around.append(asked_at)
        try:
            return self.units.branch(truth, sides, variables, refused)
        finally:
            self._around.pop()

    def gone_through(self, over: Any, body: Function, stop: Function | None, state: State) -> None:
        """`for`."""
        found = steps(over)
        if found is None and stop is None:
            for item in over:
                body(item)
            return
        if found is None:
            found = sequences.listed(over)
            if found is None:  # things that only Python knows: turn by turn
                self._unrolled(list(over), body, stop, Variables(*state))
                return
        self.through(found, body, stop, Variables(*state))

    def _unrolled(
        self, items: Sequence[Any], body: Function, stop: Function | None, variables: Variables
    ) -> None:
        for item in items:
            self.branch(
                stop is None or self.negated(stop()),
                lambda item=item: body(item),
                lambda: None,
                (variables.get, variables.set),
            )

    def through(
        self, found: Steps, body: Function, stop: Function | None, variables: Variables
    ) -> None:
        counter = Counter()

        def turn() -> Any:
            note_turn(counter.value, found.count)
            body(found.item(counter.value))
            counter.value = counter.value + 1
            return more()

        def more() -> Any:
            left = counter.value < found.count
            return left if stop is None else self.both(lambda: self.negated(stop()), lambda: left)

        # To torch no size is zero, and it would say that there is a first turn.
        unsure = isinstance(found.count, torch.SymInt)
        if (
            unsure
            and has_quotient(found.count.node.expr)
            and not free_unbacked_symbols(found.count)
        ):
            keep_in_mind(found.count > 1)  # blocks: a proof wants more than one
        go = torch.scalar_tensor(found.count) > 0 if unsure else self.truth(more())
        for _ in range(_MOST_TURNS):
            if go is False:
                return
            # Of so many turns, until something that only the data know ends them.
            if go is not True:
                break
            go = self.truth(turn())
        else:
            raise UnwritableError("a loop goes on and on")

        def put(values: Sequence[Any]) -> None:
            counter.take(values[0])
            variables.set(values[1:])

        inner = Variables(
            lambda: (counter.value, *variables.get()),
            put,
        )
        plain = stop is None and isinstance(counter.value, int)
        count = found.count - counter.value if plain else None
        try:
            self.units.loop(go, lambda: self.truth(turn()), inner, count)
        except FirstTurnError:
            if count is None or counter.value:
                raise

            def turns() -> None:
                counter.value = 0
                turn()
                self.units.loop(self.truth(more()), lambda: self.truth(turn()), inner, count - 1)

            if free_unbacked_symbols(count):
                self._branch(count > 0, (turns, lambda: None), variables)
            else:
                # What is there only after a turn: then there is one, or the file says nothing of it.
                torch._check(count > 0)  # type: ignore[no-untyped-call]
                turns()

    def gone_round(
        self, test: Function, body: Function, stop: Function | None, state: State
    ) -> None:
        """`while`."""

        def more() -> Any:
            if stop is None:
                return self.truth(test())
            return self.truth(self.both(lambda: self.negated(stop()), test))

        def turn() -> Any:
            body()
            return more()

        go = more()
        for _ in range(_MOST_TURNS):
            if go is False:
                return
            if go is not True:
                self.units.loop(go, turn, Variables(*state))
                return
            go = turn()
        raise UnwritableError("a loop goes on and on")

    # ---- torch's functions for them --------------------------------------------------------

    def cond(self, pred: Any, true_fn: Function, false_fn: Function, operands: Any = ()) -> Any:
        return self.chosen(pred, lambda: true_fn(*operands), lambda: false_fn(*operands))

    def while_loop(
        self, cond_fn: Function, body_fn: Function, inputs: Any, others: Any = ()
    ) -> Any:
        carried = tuple(inputs)

        def put(values: Sequence[Any]) -> None:
            nonlocal carried
            carried = tuple(values)

        def body() -> None:
            put(body_fn(*carried, *others))

        self.gone_round(lambda: cond_fn(*carried, *others), body, None, (lambda: carried, put))
        return carried


def _is_open(value: torch.SymBool, answer: bool) -> bool:
    """Whether it is known but for the smallest sizes."""
    expr = value.node.expr
    return not free_unbacked_symbols(expr) and is_otherwise_when_small(expr, answer)
