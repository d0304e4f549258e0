"""The turns of a loop made one: what each turn takes from where, as a function of the turn."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from torch import fx

from onnxpert.capture.rolling.alignment import Structure, Turns
from onnxpert.capture.rolling.trace import Element, Leaf, Ref, Trace, UnalikeError, broken


@dataclass(frozen=True, slots=True)
class Straight:
    """A number: two leaves, where it starts and what each turn adds."""


@dataclass(frozen=True, slots=True)
class Here:
    """A value of the same turn; two leaves for each number of its index."""

    slot: int
    ref: Ref  # producer and index left out


@dataclass(frozen=True, slots=True)
class Before:
    """A value of `lag` turns ago: a leaf per number of its index, and a Ref for each first turn."""

    slot: int
    ref: Ref
    lag: int


@dataclass(frozen=True, slots=True)
class Outside:
    """A value from before the loop: a Ref, and for each number of its index what a turn adds."""

    ref: Ref


Key: TypeAlias = (
    "tuple[tuple[int, ...], int | None]"  # port and pick: a result of an element of a body
)
Mode: TypeAlias = Straight | Here | Before | Outside


@dataclass(frozen=True, slots=True)
class Step:
    """An element of a body: what it is, and how each of its leaves comes about."""

    template: Any
    modes: tuple[Mode, ...]
    node: fx.Node | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class LoopTemplate:
    """A loop without its leaves, of which the first is the number of turns."""

    body: tuple[Step, ...]


def fold(trace: Trace, structure: Structure) -> list[Element]:
    """The trace with every loop of its structure as one element. Raises UnalikeError."""
    return list(_folded(trace, structure))


def _folded(trace: Trace, structure: Structure) -> Iterator[Element]:
    for part in structure:
        if isinstance(part, Turns):
            yield _loop(trace, [list(_folded(trace, turn)) for turn in part.turns])
        else:
            yield trace.element(part)


class _BreakError(UnalikeError):
    """A number goes in a straight line up to some turn, and not beyond."""

    def __init__(self, at: int) -> None:
        super().__init__("a number changes from turn to turn, and not by a constant")
        self.at = at


def _loop(trace: Trace, turns: Sequence[Sequence[Element]]) -> Element:
    try:
        return _one(trace, turns)
    except _BreakError as error:
        size = error.at
        if size < 2 or len(turns) % size or len(turns) == size:
            raise
    # A loop that does nothing but loop: its turns stand in one row with those inside.
    rows = [turns[start : start + size] for start in range(0, len(turns), size)]
    return _one(trace, [[_one(trace, row)] for row in rows])


def _one(trace: Trace, turns: Sequence[Sequence[Element]]) -> Element:
    places = {
        element.id: (turn, slot)
        for turn, elements in enumerate(turns)
        for slot, element in enumerate(elements)
    }
    leaves: list[Leaf] = [len(turns)]
    body = []
    for slots in zip(*turns, strict=True):
        if any(other.template != slots[0].template for other in slots):
            raise UnalikeError("the turns of a loop differ")
        columns = zip(*(element.leaves for element in slots), strict=True)
        modes = tuple(
            _mode([_seen(trace, leaf) for leaf in column], places, leaves) for column in columns
        )
        body.append(Step(slots[0].template, modes, slots[0].node))
    # A number of its own: negative, so that no call has it.
    loop = Element(
        -1 - len(trace.where), LoopTemplate(tuple(body)), tuple(leaves), turns[0][0].node
    )
    for number, (turn, slot) in places.items():
        trace.where[number] = (loop.id, (slot,), (turn,))
    return loop


def _seen(trace: Trace, leaf: Leaf) -> Leaf:
    return trace.seen(leaf) if isinstance(leaf, Ref) else leaf


def _mode(column: Sequence[Leaf], places: Any, leaves: list[Leaf]) -> Mode:
    if not isinstance(column[0], Ref):
        leaves += _line(column)
        return Straight()
    return _ref_mode(column, places, leaves)


def _line(column: Sequence[Any]) -> tuple[Any, Any]:
    """Where numbers start and how they grow. Raises UnalikeError when that is not straight."""
    start, step = column[0], column[1] - column[0]
    if step == 0 or math.isnan(step):  # the same in every turn, be it NaN
        step = 0
    at = broken(column, (start, step))
    if at is not None:
        raise _BreakError(at)
    return start, step


def _ref_mode(column: Sequence[Ref], places: Any, leaves: list[Leaf]) -> Mode:
    inside = [places.get(ref.producer) for ref in column]
    if all(place is None for place in inside):
        return _outside(column, leaves)
    lags = {turn - place[0] for turn, place in enumerate(inside) if place is not None}
    (lag,) = lags if len(lags) == 1 else (-1,)
    first = next(index for index, place in enumerate(inside) if place is not None)
    regular = column[first:]
    slots = {place[1] if place else None for place in inside[first:]}
    if lag < 0 or first != lag or len(slots) != 1 or None in slots:
        raise UnalikeError("a value comes from another place in each turn")
    slot: Any = slots.pop()
    look = _look(regular)
    lines = [
        _line(numbers) if len(numbers) > 1 else (numbers[0], 0) for numbers in _indices(regular)
    ]
    if lag == 0:
        for line in lines:
            leaves += line
        return Here(slot, look)
    if any(step for _, step in lines) or look.axis is not None:
        raise UnalikeError("what a turn takes from an earlier one moves")
    leaves += [start for start, _ in lines]
    leaves += column[:lag]
    return Before(slot, look, lag)


def _outside(column: Sequence[Ref], leaves: list[Leaf]) -> Mode:
    first, look = column[0], _look(column)
    if any(ref.producer != first.producer for ref in column):
        raise UnalikeError("each turn takes another value from before the loop")
    lines = [_line(numbers) for numbers in _indices(column)]
    leaves.append(first)
    leaves += [step for _, step in lines]
    return Outside(look)


def _look(column: Sequence[Ref]) -> Ref:
    """What must be the same of every Ref, whoever made the value."""
    looks = {Ref(None, ref.port, (None,) * len(ref.index), ref.pick, ref.axis) for ref in column}
    if len(looks) != 1:
        raise UnalikeError("each turn takes another result")
    return looks.pop()


def _indices(column: Sequence[Ref]) -> list[tuple[Any, ...]]:
    return list(zip(*(ref.index for ref in column), strict=True))


# ---- what is read of a loop -----------------------------------------------------------------


def read_after(elements: Sequence[Element]) -> dict[Any, frozenset[Key]]:
    """For each loop, which of its inner results are read after it."""
    found: dict[Any, set[Key]] = {}
    for element in elements:
        for leaf in element.leaves:
            if isinstance(leaf, Ref) and leaf.port:
                found.setdefault(leaf.producer, set()).add((leaf.port, leaf.pick))
    return {loop: frozenset(keys) for loop, keys in found.items()}


def read_within(template: LoopTemplate, needs: frozenset[Key]) -> dict[int, frozenset[Key]]:
    """The same for the loops within a loop: what its body reads, and what is read after it."""
    found: dict[int, set[Key]] = {}
    for step in template.body:
        for mode in step.modes:
            if isinstance(mode, (Here, Before)) and mode.ref.port:
                found.setdefault(mode.slot, set()).add((mode.ref.port, mode.ref.pick))
    for port, pick in needs:
        if len(port) > 1:
            found.setdefault(port[0], set()).add((port[1:], pick))
    return {slot: frozenset(keys) for slot, keys in found.items()}
