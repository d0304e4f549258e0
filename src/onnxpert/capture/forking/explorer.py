"""Branches that only a run of the file can decide: both sides recorded, and written as one graph.

The model runs once. Each question that Python asked on the way is then answered the other way in a run
of its own, which shares its beginning with the first and, as soon as both depend on the same values
again, also its end. So n branches in a row cost n runs more, not 2**n. A question that comes back to
where it was asked is a loop."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onnxpert.capture.forking.fixing import fixed_aside
from onnxpert.capture.forking.flattening import FlatScope, without_reads
from onnxpert.capture.forking.joining import SidesDifferError, joined
from onnxpert.capture.forking.meeting import alike, meet
from onnxpert.capture.forking.nesting import recurses
from onnxpert.capture.forking.paths import (
    Carry,
    Loop,
    Part,
    changed,
    has_second_name,
    hidden,
    read,
    rebound,
    rebound_value,
    used,
)
from onnxpert.capture.forking.runs import Record, Run, Runs, TooManyPathsError
from onnxpert.capture.forking.traces import Asked, Expr, Look, Number, Step, UnlikeError, steps_in
from onnxpert.capture.forking.union import woven
from onnxpert.capture.forking.ways import ways_of_sizes
from onnxpert.capture.guards import assuming
from onnxpert.core.source import location, of_exception
from onnxpert.core.types import Captured, Loaded, Precondition, replace

logger = logging.getLogger(__name__)
_MOST_TURNS = 12
_SOME_TURNS = 8  # of two loops: more ways than are followed
_MANY_QUESTIONS = 4  # of one run's, about data
_MANY_ABOUT_SIZES = 2  # more may lead as many ways as their sides can be put together
_MANY_WAYS = 4  # by sizes that have nothing to do with each other
_MANY_CALLS = 600  # recorded again: to read the lines takes less


class EscapedError(Exception):
    """A path leaves a stretch of the model by another way than its end."""


def forked(
    loaded: Loaded, record: Record, otherwise: Callable[[Loaded], Captured | None] | None = None
) -> Captured:
    """The model with every side of its branches; without any, what one run recorded. `otherwise` is
    asked first where one run has shown that there will be many, or one side is for one size only."""
    runs = Runs(loaded, record)
    first = runs.completed((), runs.first)
    if isinstance(first, Exception):
        raise first
    plain: Captured = replace(first.captured, left_open=first.environment.left_open)
    if not first.asked:
        return plain
    if otherwise is not None and (
        _is_intricate(first) or _takes_long(runs, first) or ways_of_sizes(first) > _MANY_WAYS
    ):
        found = otherwise(loaded)
        if found is not None:
            return found
    return _whole(loaded, runs, plain, otherwise)


def _whole(
    loaded: Loaded,
    runs: Runs,
    plain: Captured,
    otherwise: Callable[[Loaded], Captured | None] | None,
) -> Captured:
    """All the ways in one graph; where that cannot be and only sizes decide, that of the example, which
    has its assumptions on sizes among its guards."""
    first = runs.all()[0]
    about_sizes = not any(asked.question.about_data for asked in first.asked)
    if about_sizes and recurses(one.question for one in first.asked):
        return plain  # each size has its own depth
    explorer = Explorer(runs)
    try:
        runs.look_ahead(first)
        part = explorer.explored(first, 0, 0, None)
    except (TooManyPathsError, SidesDifferError, UnlikeError):
        if not about_sizes:
            raise
        logger.debug("not forked", exc_info=True)
        return plain
    aside = fixed_aside(runs)
    found = otherwise(loaded) if aside and otherwise is not None else None
    if found is None and aside and about_sizes:
        return plain
    if found is None:
        found = assuming(woven(loaded, first, part, explorer), aside)
        found = replace(found, plain=plain if about_sizes else None, left_open=plain.left_open)
    return found


def _is_intricate(first: Run) -> bool:
    """Whether to follow the paths one by one would take many runs."""
    asked = [one.question for one in first.asked]
    many = sum(question.about_data for question in asked) > _MANY_QUESTIONS
    return many or any(question.in_while for question in asked)


def _takes_long(runs: Runs, first: Run) -> bool:
    """Whether to answer each of its questions otherwise takes longer than to read its lines."""
    count = len(first.asked)
    return count > _MANY_ABOUT_SIZES and count * runs.calls > _MANY_CALLS


def flat(loaded: Loaded, record: Record) -> Captured:
    """The model with every side of its branches computed, and chosen by value. Raises where that
    would be something else."""
    runs = Runs(loaded, record)
    first = runs.completed((), runs.first)
    if isinstance(first, Exception):
        raise first
    if not first.asked:
        return first.captured
    explorer = Explorer(runs)
    whole = woven(loaded, first, explorer.explored(first, 0, 0, None), explorer, FlatScope)
    without_reads(whole.root.graph)
    return replace(whole, branches=())  # type: ignore[no-any-return]


@dataclass(frozen=True, slots=True)
class _Side:
    """A run behind a branch: its next question, and its next call."""

    run: Run
    number: int
    start: int

    @property
    def question(self) -> Asked:
        return self.run.asked[self.number - 1]


@dataclass(frozen=True, slots=True)
class _Turns:
    """A run that goes round a loop twice: the question before, between and after the turns."""

    run: Run
    first: int
    second: int
    third: int
    go: bool  # the answer that leads to another turn


class Explorer:
    """All the paths of one model."""

    def __init__(self, runs: Runs) -> None:
        self.runs = runs
        self.preconditions: dict[Any, Precondition] = {}
        self.unexplored: list[Expr] = []  # conditions whose other side is out of reach

    def explored(self, run: Run, number: int, start: int, end: int | None) -> Part:
        """What the run does from the call at `start` on, up to its question at `end`, and could do
        else; `number` is the first question on that way."""
        if number == (len(run.asked) if end is None else end):
            return self._straight(run, start, end)
        asked = run.asked[number]
        self._check_depth(run, number)
        before = tuple(used(step) for step in run.steps[start : asked.position])
        other = self._other_side(run, number)
        if other is None:
            rest = self.explored(run, number + 1, asked.position, end)
        else:
            one = _Side(run, number + 1, asked.position)
            two = _Side(other, _behind(run, number, other), asked.position)
            rest = self._looped(one, two, end) or self._branched(one, two, end)
        return Part((*before, *rest.items), rest.ends, rest.facts)

    def _straight(self, run: Run, start: int, end: int | None) -> Part:
        stop = len(run.steps) if end is None else run.asked[end].position
        items = tuple(used(step) for step in run.steps[start:stop])
        if end is None:
            return Part(items, run.outputs, run.facts)
        return Part(items, tuple(leaf for _, leaf in run.asked[end].state), run.facts)

    def _check_depth(self, run: Run, number: int) -> None:
        """A `while` that is no loop to us is unrolled, and not for ever."""
        asked = run.asked[number].question
        same = sum(other.question.frames == asked.frames for other in run.asked[:number])
        if asked.in_while and same > _MOST_TURNS:
            raise TooManyPathsError(self.runs.places())

    def _check_exits(self, one: _Side, two: _Side) -> None:
        """A loop that neither rolls nor comes together again leads on from each of its turns; where
        it is gone through once more behind that, each of those ways has as many."""
        run, number, question = one.run, one.number - 1, one.question.question
        staying = [side for side in (one, two) if _is_asked_again(side)]
        if len(staying) != 1:
            return
        go = staying[0].question.question.answer
        rest = [asked.question for asked in run.asked[number:]]
        same = [each for each in rest if each.in_while and each.frames[-1] == question.frames[-1]]
        if sum(each.answer is not go for each in same) < 2:
            return
        plan = (*run.answers(0, number), *[go] * _SOME_TURNS)
        found = self.runs.completed(plan, run.sizes, run.steps[: run.asked[number].position])
        turns = found.asked[number : number + _SOME_TURNS] if isinstance(found, Run) else ()
        asked = [(turn.question.frames, turn.question.answer) for turn in turns]
        if asked == [(question.frames, go)] * _SOME_TURNS:
            raise TooManyPathsError(self.runs.places())

    # ---- branches --------------------------------------------------------------------------

    def _other_side(self, run: Run, number: int) -> Run | None:
        """A run that answers that question, and only that, the other way; None if there is none."""
        asked = run.asked[number]
        plan, sizes = run.answers(0, number), run.sizes
        if asked.question.about_data:
            plan = (*plan, not asked.question.answer)
        else:
            found = self.runs.sizes(run, number)
            if found is None:
                self.unexplored.append(asked.question.condition)
                return None
            sizes = found
        other = self.runs.completed(plan, sizes, run.steps[: asked.position])
        if isinstance(other, Exception):
            self._refused(asked, other)
            return None
        return other

    def _refused(self, asked: Asked, error: Exception) -> None:
        question = asked.question
        at = location(question.frames, question.module)
        text = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        module = str(getattr(error, "module_path", ""))
        scripted = location(getattr(error, "frames", ()), module)  # Python never entered it
        raised = scripted or of_exception(error, module)
        found = Precondition(question.answer, text, at, raised)
        self.preconditions.setdefault((question.condition, question.answer), found)

    def _branched(self, one: _Side, two: _Side, end: int | None) -> Part:
        question = one.question.question
        for main, other, here, there in self._meetings(one, two, end):
            try:
                return self._met(main, other, here, there, end)
            except (EscapedError, SidesDifferError):
                continue
        if end is not None:
            raise EscapedError
        if question.in_while and question.about_data:
            self._check_exits(one, two)
        if one.run.captured.output_names != two.run.captured.output_names:
            raise SidesDifferError("its sides return different structures", question.frames)
        sides = [self.explored(side.run, side.number, side.start, None) for side in (one, two)]
        try:
            return joined(question, *sides)
        except SidesDifferError as error:
            raise SidesDifferError(str(error), question.frames) from None

    def _meetings(
        self, one: _Side, two: _Side, end: int | None
    ) -> Iterator[tuple[_Side, _Side, int, int]]:
        """Questions that both sides come to with the same values but for some tensors."""
        if not one.question.question.about_data:
            return  # what a side knows of sizes, it has used for all that follows
        last = len(one.run.asked) - 1 if end is None else end
        for here in range(one.number, last + 1):
            for there in range(two.number, len(two.run.asked)):
                if self._is_met(one.run, here, two.run, there):
                    yield one, two, here, there
                if end is None and self._is_met(two.run, there, one.run, here):
                    yield two, one, there, here

    def _is_met(self, main: Run, here: int, other: Run, there: int) -> bool:
        same_place = meet(main.asked[here], other.asked[there])
        return same_place and self._same_rest(main, here, other, there)

    def _same_rest(self, one: Run, here: int, other: Run, there: int) -> bool:
        """Whether with the same answers both do the same from there on, to the last call."""
        if one.answers(here) != other.answers(there):
            plan = (*other.answers(0, there), *one.answers(here))
            found = self.runs.completed(
                plan, other.sizes, other.steps[: other.asked[there].position]
            )
            if isinstance(found, Exception) or found.answers() != plan:
                return False
            other = found
        return _same_calls(one, here, other, there)

    def _met(self, main: _Side, other: _Side, here: int, there: int, end: int | None) -> Part:
        """A branch that is over before the next question: from there on, there is one path."""
        branch = joined(
            main.question.question,
            self.explored(main.run, main.number, main.start, here),
            self.explored(other.run, other.number, other.start, there),
        )
        asked = main.run.asked[here]
        steps, symbols = _bound(asked, branch.ends)
        rest = self.explored(main.run, here, asked.position, end)
        if has_second_name(branch.items, rest.items, rest.ends, steps):
            raise SidesDifferError("a tensor is written that goes by two names")
        items = rebound(rest.items, steps, symbols)
        ends = tuple(rebound_value(each, steps, symbols) for each in rest.ends)
        if not hidden(branch.items).isdisjoint((*read(items), *steps_in(ends))):
            raise SidesDifferError("a value that no variable holds leaves the branch")
        return Part((*branch.items, *items), ends, rest.facts)

    # ---- loops -----------------------------------------------------------------------------

    def _looped(self, one: _Side, two: _Side, end: int | None) -> Part | None:
        """The same question at the same place with the same values but for some tensors: `while`."""
        if not one.question.question.about_data:
            return None
        for side, leaving in ((two, one), (one, two)):
            turns = self._turns(side)
            before = leaving.number - 1
            if turns is None or not self._is_met(turns.run, turns.third, leaving.run, before):
                continue
            try:
                return self._rolled(turns, None if end is None else one.run.asked[end])
            except (EscapedError, SidesDifferError):
                continue
        return None

    def _turns(self, side: _Side) -> _Turns | None:
        """A run with two turns of a loop, if the question on that side is asked by one."""
        first, go = side.number - 1, side.question.question.answer
        second = self._back(side.run, first)
        run = None if second is None else self._turned(side.run, second, go)
        if second is None or run is None:
            return None
        third = self._back(run, second)
        run = None if third is None else self._turned(run, third, not go)
        return None if third is None or run is None else _Turns(run, first, second, third, go)

    def _back(self, run: Run, number: int) -> int | None:
        """The question at which the run stands again where it stood."""
        for at in range(number + 1, len(run.asked)):
            asked = run.asked[at]
            if asked.question.in_while and meet(asked, run.asked[number]):
                return at
        return None

    def _turned(self, run: Run, number: int, answer: bool) -> Run | None:
        plan = (*run.answers(0, number), answer)
        found = self.runs.completed(plan, run.sizes, run.steps[: run.asked[number].position])
        return None if isinstance(found, Exception) else found

    def _rolled(self, turns: _Turns, end: Asked | None) -> Part:
        """The loop, and what comes after it. Its body is the second turn: the values which that
        starts with are its own, where those of the first may go by two names."""
        run = turns.run
        first, second, third = (run.asked[at] for at in (turns.first, turns.second, turns.third))
        stop = None if end is None else self._same_end(end, run, turns.third)
        body = self.explored(run, turns.second + 1, second.position, turns.third)
        carried = tuple(_carried(first, second, body.ends))
        if changed(body.items, {carry.inside for carry in carried}):
            raise SidesDifferError("a turn writes to what was there before the loop")
        _, symbols = _bound(third, body.ends)
        start, again = first.question.condition, third.question.condition.xreplace(symbols)
        if not turns.go:
            start, again = ~start, ~again
        loop = Loop(first.question, start, again, body.items, carried)
        keys = {carry.next: carry.key for carry in carried}
        after = {leaf: keys.get(value, value) for leaf, value in _pairs(third, body.ends)}
        rest = self.explored(run, turns.third + 1, third.position, stop)
        ends = tuple(rebound_value(each, after, symbols) for each in rest.ends)
        return Part((loop, *rebound(rest.items, after, symbols)), ends, rest.facts)

    def _same_end(self, asked: Asked, run: Run, number: int) -> int:
        for at in range(number + 1, len(run.asked)):
            if meet(asked, run.asked[at]) and meet(run.asked[at], asked):
                return at
        raise EscapedError


def _is_asked_again(side: _Side) -> bool:
    """Whether what decided for this side is the next thing that is asked on it."""
    following = side.run.asked[side.number :][:1]
    return any(one.question.frames == side.question.question.frames for one in following)


def _carried(first: Asked, second: Asked, ends: Sequence[Any]) -> Iterator[Carry]:
    """What changes from turn to turn."""
    known: dict[Step, tuple[Any, Any]] = {}
    for (_, start), (_, inside), end in zip(first.state, second.state, ends, strict=True):
        if isinstance(inside, Number) and not (start == inside == end):
            raise SidesDifferError("a turn leaves a number to the next")
        if not isinstance(inside, Step) or start is inside is end:
            continue
        if inside in known:
            if known[inside] != (start, end):
                raise SidesDifferError("one tensor of a turn is two of the next")
            continue
        known[inside] = (start, end)
        key = Step("loop", out=inside.out, meta=inside.meta, name=inside.name)
        key.base = key
        yield Carry(key, inside.out, inside, start, end)


def _pairs(asked: Asked, ends: Sequence[Any]) -> Iterator[tuple[Step, Any]]:
    for (_, leaf), end in zip(asked.state, ends, strict=True):
        if isinstance(leaf, Step):
            yield leaf, end


def _behind(run: Run, number: int, other: Run) -> int:
    """The question that `other` comes to after the one at which it left `run`."""
    place = 0
    for asked in run.asked[: number + 1]:
        # A size that is a number in the other run is not asked about there.
        condition = asked.question.condition.xreplace(other.known)
        if place < len(other.asked) and other.asked[place].question.condition == condition:
            place += 1
    return place


def _same_calls(one: Run, here: int, other: Run, there: int) -> bool:
    """Whether the calls of the one are those of the other, with the other's values for its own."""
    known = {
        a: b
        for (_, a), (_, b) in zip(one.asked[here].state, other.asked[there].state, strict=False)
        if isinstance(a, Step)
    }
    names: dict[Expr, Expr] = {}

    def same(a: Any, b: Any) -> bool:
        if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
            return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
        if isinstance(a, Step):
            return known.get(a, a) is b
        return alike(a, b, names)  # what Python counted out of sight is a number here

    rest = one.steps[one.asked[here].position :], other.steps[other.asked[there].position :]
    if len(rest[0]) != len(rest[1]):
        return False
    for a, b in zip(*rest, strict=True):
        given = [(step.args, tuple(step.kwargs.values())) for step in (a, b)]
        if a.target != b.target or not same(*given) or not alike(a.out, b.out, names):
            return False
        known[a] = b
    return same(one.outputs, other.outputs)


def _bound(asked: Asked, ends: Sequence[Any]) -> tuple[dict[Step, Any], dict[Expr, Expr]]:
    """What the values at a question are called after the branch before it."""
    steps: dict[Step, Any] = {}
    symbols: dict[Expr, Expr] = {}
    for leaf, end in _pairs(asked, ends):
        if steps.setdefault(leaf, end) is not end:
            raise SidesDifferError("one tensor of the main path is two of the other's")
        sizes = zip(_sizes_of(leaf.out), _sizes_of(end.out), strict=True)
        symbols |= {a: b for a, b in sizes if a != b and a.is_Symbol}
    return {a: b for a, b in steps.items() if a is not b}, symbols


def _sizes_of(out: Any) -> tuple[Expr, ...]:
    return out.sizes if isinstance(out, Look) else ()
