"""Who rewritten code calls: does what Python would where the answer is known, and else writes it down."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import sympy
import torch
from torch.fx.experimental.symbolic_shapes import (
    constrain_range,
    free_unbacked_symbols,
    statically_known_true,
)

from onnxpert.capture.places import user_frames
from onnxpert.capture.written import sequences
from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import SYMBOLS, UNDEFINED, Grown
from onnxpert.capture.written.pages import PageRecorder
from onnxpert.capture.written.sequences import Steps, steps
from onnxpert.capture.written.slots import FirstTurnError
from onnxpert.capture.written.units import Units, Variables
from onnxpert.core.source import location, of_exception
from onnxpert.core.statement import raises
from onnxpert.core.types import Precondition

Function = Callable[..., Any]
State = tuple[Function, Function]  # reads the variables, and writes them
_NOTHING: State = (tuple, lambda _: None)
_sym: Any = torch  # whose functions of symbols have no types
_MOST_TURNS = 4000  # done as Python does them
_SMALLEST = (1, 0)  # sizes that torch takes for constants


class Flow:
    """One run of a model whose functions were rewritten."""

    def __init__(self, recorder: PageRecorder, root: torch.nn.Module) -> None:
        self.recorder = recorder
        self.units = Units(recorder, root)
        self.preconditions: list[Precondition] = []
        self._trying = 0  # blocks of `try` that are under way
        self._open = {
            builtins.range: sequences.counted,
            builtins.zip: sequences.zipped,
            builtins.enumerate: sequences.numbered,
            builtins.reversed: sequences.backwards,
            builtins.len: _length,
            builtins.int: _whole,
            builtins.float: _fraction,
            builtins.bool: self._bool,
            builtins.list: self._list,
            builtins.tuple: self._tuple,
            builtins.sum: self._sum,
            builtins.min: self._min,
            builtins.max: self._max,
            builtins.any: self._any,
            builtins.all: self._all,
        }

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

    def given(self, value: Any) -> Any:
        many = (
            value if isinstance(value, (list, tuple)) and not isinstance(value, Grown) else [value]
        )
        if any(one is UNDEFINED for one in many):
            raise UnwritableError("a variable is read that a loop or a branch leaves open")
        return value

    @contextmanager
    def trying(self) -> Iterator[None]:
        self._trying += 1
        try:
            yield
        finally:
            self._trying -= 1

    def listed(self, value: Any) -> Any:
        """`value.tolist()`."""
        one = isinstance(value, torch.Tensor) and value.dim() == 1
        if one and isinstance(value.shape[0], torch.SymInt):
            return Grown(value, number=True)
        return value.tolist()

    def builtin(self, function: Any) -> Any:
        try:
            return self._open.get(function, function)
        except TypeError:  # a name of the model's own, and what it holds has no hash
            return function

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
        for answer, condition in ((True, value), (False, _sym.sym_not(value))):
            if statically_known_true(condition) and not self._otherwise_when_small(value, answer):
                return answer
        return value

    def _truth_of_tensor(self, value: torch.Tensor) -> Any:
        if value.numel() != 1 or (known := self.recorder.known(value)) is not None:
            return bool(value) if value.numel() != 1 else bool(known)
        value = self.recorder._stand_in(value)
        if value.dtype is not torch.bool:
            value = value != 0
        return value.reshape([]) if value.dim() else value

    def _otherwise_when_small(self, value: torch.SymBool, answer: bool) -> bool:
        expr = value.node.expr
        if free_unbacked_symbols(expr):
            return False
        for symbol in expr.free_symbols:
            for size in _SMALLEST:
                with suppress(ZeroDivisionError, AssertionError, ValueError, TypeError):
                    other = expr.xreplace({symbol: sympy.Integer(size)})
                    if other in (sympy.true, sympy.false) and bool(other) != answer:
                        return True
        return False

    def negated(self, value: Any) -> Any:
        truth = self.truth(value)
        if isinstance(truth, bool):
            return not truth
        return truth.logical_not() if isinstance(truth, torch.Tensor) else _sym.sym_not(truth)

    def both(self, *parts: Function) -> Any:
        return self._in_turn(parts, True)

    def either(self, *parts: Function) -> Any:
        return self._in_turn(parts, False)

    def _in_turn(self, parts: Sequence[Function], goes_on: bool) -> Any:
        """`and` and `or`: what follows is only worked out where it is asked for."""
        value = parts[0]()
        for place, part in enumerate(parts[1:], 1):
            truth = self.truth(value)
            if isinstance(truth, bool):
                if truth != goes_on:
                    return value
                value = part()
                continue
            rest = parts[place:]

            def asked(rest: Sequence[Function] = rest) -> Any:
                return _flag(self.truth(self._in_turn(rest, goes_on)))

            def settled() -> Any:
                return not goes_on

            sides = (asked, settled) if goes_on else (settled, asked)
            return self._branch(truth, sides, Variables(*_NOTHING))
        return value

    def chosen(self, test: Any, yes: Function, no: Function) -> Any:
        return self.branch(test, yes, no, _NOTHING)

    def assured(self, test: Any, text: Function) -> None:
        truth = self.truth(test)
        if truth is True:
            return
        if truth is False:
            raise AssertionError(text())
        at = location(user_frames(), self.recorder.modules[-1])
        said = text()
        said = said if isinstance(said, str) else "AssertionError"
        said = said if said.startswith("AssertionError") else f"AssertionError: {said}"
        self.preconditions.append(Precondition(True, said, at, at))

    # ---- statements ------------------------------------------------------------------------

    def branch(self, test: Any, yes: Function, no: Function, state: State) -> Any:
        truth = self.truth(test)
        if isinstance(truth, bool):
            return (yes if truth else no)()
        return self._branch(truth, (yes, no), Variables(*state))

    def _branch(self, truth: Any, sides: Sequence[Function], variables: Variables) -> Any:
        asked_at = location(user_frames(), self.recorder.modules[-1])

        def refused(side: bool, error: Exception) -> None:
            if self._trying:
                raise UnwritableError("what a side raises may be caught") from error
            raised = of_exception(error)
            if isinstance(error, UnwritableError) or raised is None or not raises(raised):
                raise error
            text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
            self.preconditions.append(Precondition(not side, text, asked_at, raised))

        return self.units.branch(truth, sides, variables, refused)

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
        self._through(found, body, stop, Variables(*state))

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

    def _through(
        self, found: Steps, body: Function, stop: Function | None, variables: Variables
    ) -> None:
        counter = _Counter()

        def turn() -> Any:
            body(found.item(counter.value))
            counter.value = counter.value + 1
            return more()

        def more() -> Any:
            left = counter.value < found.count
            return left if stop is None else self.both(lambda: self.negated(stop()), lambda: left)

        # To torch no size is zero, and it would say that there is a first turn.
        unsure = isinstance(found.count, torch.SymInt)
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
            # What is there only after a turn: then there is one, or the file says nothing of it.
            torch._check(count > 0)  # type: ignore[no-untyped-call]
            turn()
            self.units.loop(self.truth(more()), lambda: self.truth(turn()), inner, count - 1)

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

    # ---- Python's own functions ------------------------------------------------------------

    def _bool(self, value: Any = False) -> Any:
        truth = self.truth(value)
        return truth if isinstance(truth, bool) else _flag(truth)

    def _list(self, over: Any = ()) -> Any:
        found = steps(over)
        if isinstance(over, Grown):
            return over.copy()
        if found is None:
            return list(over)
        items: list[list[Any]] = [[]]

        def body(item: Any) -> None:
            items[0].append(item)

        def put(values: Sequence[Any]) -> None:
            items[0] = values[0]

        self._through(found, body, None, Variables(lambda: (items[0],), put))
        return items[0]

    def _tuple(self, over: Any = ()) -> Any:
        return tuple(over) if steps(over) is None else self._list(over)

    def _sum(self, over: Any, start: Any = 0) -> Any:
        found = steps(over)
        if found is None:
            return sum(over, start)
        total = [start]

        def body(item: Any) -> None:
            total[0] = total[0] + item

        def put(values: Sequence[Any]) -> None:
            total[0] = values[0]

        self._through(found, body, None, Variables(lambda: (total[0],), put))
        return total[0]

    def _any(self, over: Any) -> Any:
        return self._quantified(over, False)

    def _all(self, over: Any) -> Any:
        return self._quantified(over, True)

    def _quantified(self, over: Any, goes_on: bool) -> Any:
        if isinstance(over, Grown):
            return over.rows.all() if goes_on else over.rows.any()
        if steps(over) is not None:
            return self._quantified(self._list(over), goes_on)
        parts = [lambda item=item: item for item in over]
        return self._bool(self._in_turn(parts, goes_on)) if parts else goes_on

    def _min(self, *values: Any, **options: Any) -> Any:
        return self._extreme(builtins.min, torch.sym_min, values, options)

    def _max(self, *values: Any, **options: Any) -> Any:
        return self._extreme(builtins.max, torch.sym_max, values, options)

    def _extreme(self, plain: Function, symbolic: Function, values: Any, options: Any) -> Any:
        if len(values) == 1 and isinstance(values[0], Grown) and not options:
            rows = values[0].rows
            return rows.amin(0) if plain is builtins.min else rows.amax(0)
        many = list(values[0]) if len(values) == 1 else list(values)
        if options or not any(isinstance(one, (torch.Tensor, *SYMBOLS)) for one in many):
            return plain(*values, **options)
        best = many[0]
        for other in many[1:]:
            if isinstance(best, torch.Tensor) or isinstance(other, torch.Tensor):
                better = other < best if plain is builtins.min else other > best
                best = self.chosen(better, lambda o=other: o, lambda b=best: b)
            else:
                best = symbolic(best, other)
        return best


class _Counter:
    """How many turns a loop has done."""

    def __init__(self) -> None:
        self.value: Any = 0

    def take(self, value: Any) -> None:
        if isinstance(value, torch.SymInt) and value.node.expr.is_Symbol:
            with suppress(Exception):  # a symbol that torch knows more of already
                constrain_range(value, min=0, max=None)
        self.value = value


def _flag(truth: Any) -> Any:
    """A truth value that is handed on like any tensor."""
    return (
        _sym.scalar_tensor(truth, dtype=torch.bool) if isinstance(truth, torch.SymBool) else truth
    )


def _length(over: Any) -> Any:
    if isinstance(over, (Grown, Steps)):
        return over.count
    if isinstance(over, torch.Tensor) and over.dim():
        return over.shape[0]
    return len(over)


def _whole(*values: Any) -> Any:
    if len(values) != 1:
        return int(*values)
    value = values[0].item() if isinstance(values[0], torch.Tensor) else values[0]
    if isinstance(value, torch.SymBool):
        return _sym.sym_ite(value, 1, 0)
    return _sym.sym_int(value) if isinstance(value, (torch.SymInt, torch.SymFloat)) else int(value)


def _fraction(*values: Any) -> Any:
    value = values[0].item() if values and isinstance(values[0], torch.Tensor) else values
    if not isinstance(value, tuple):
        return _sym.sym_float(value) if isinstance(value, SYMBOLS) else float(value)
    if value and isinstance(value[0], (torch.SymInt, torch.SymFloat)):
        return _sym.sym_float(value[0])
    return float(*value)
