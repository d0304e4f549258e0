"""What a model keeps from call to call and answers by: each thing is given back to it alone, after all
else has been put back, and the example is asked again.

First all of them are, as they really will be: what makes no difference then makes none to anybody. A
number that grows with every call may decide only later (`if self.calls > 100`), so it is also given as
it will be by then."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import torch

from onnxpert.core import belongings
from onnxpert.core.keepsakes import give_back
from onnxpert.core.layouts import equal
from onnxpert.core.tables import Piece, Table
from onnxpert.core.types import Loaded
from onnxpert.verify.arrays import to_array
from onnxpert.verify.compare import compare
from onnxpert.verify.reference import Output, Reference, RefusedError
from onnxpert.verify.values import Values, valued

_Answer: TypeAlias = Sequence[Output]

_FEWEST_PARTS = 2
_MOST = 16  # things that are looked at one by one
_SECONDS = 5.0  # of the processor's, after which no further question is asked
_LATER = (1, 2, 3, 8, 9, 98, 99, 998, 999, 9_998, 9_999, 999_999)  # calls from the second one on


def recollections(loaded: Loaded, tensors: Collection[str], seed: int) -> tuple[str, ...]:
    """The names of the attributes and variables by which a later call answers otherwise; of what is written
    to in place only these `tensors`, for else a graph tells."""
    module = getattr(loaded.module, "__self__", loaded.module)  # of a bound method
    if not isinstance(module, torch.nn.Module) or isinstance(module, torch.jit.ScriptModule):
        return ()
    tables = (
        *belongings.of_attributes(module),
        *belongings.of_model(module),
        *belongings.of_code(module),
    )
    held = (*module.named_buffers(), *belongings.plain_tensors(module))
    written = [_Written(name, each) for name, each in held if name in tensors]
    with Reference(loaded, seed) as reference:
        try:
            return tuple(_Asking(reference, module, [*tables, *written], loaded).names())
        except RefusedError:
            return ()


class _Written:
    """A tensor that is written to in place."""

    def __init__(self, name: str, tensor: torch.Tensor) -> None:
        self._name, self._tensor = name, tensor
        self._before = tensor.detach().clone()

    def pieces(self) -> list[Piece]:
        now = self._tensor.detach().clone()
        is_same = equal(now, self._before)
        return [] if is_same else [Piece(self._name, self._before, now, self._put)]

    def _put(self, value: torch.Tensor) -> None:
        with torch.no_grad():
            self._tensor.copy_(value)


class _Asking:
    """The questions that are asked of one model, at its example."""

    def __init__(
        self,
        reference: Reference,
        module: torch.nn.Module,
        tables: Sequence[Table | _Written],
        loaded: Loaded,
    ) -> None:
        self._reference = reference
        self._tables = tables
        self._example = [leaf.value for leaf in loaded.leaves]
        self._dice = list(_dice(module))
        self._thrown = [dice.get_state() for dice in self._dice]
        self._spent = 0.0
        self._answer: _Answer = ()

    def names(self) -> Iterator[str]:
        self._answer = self._asked()
        if _differ(self._answer, self._asked()):  # neither a seed nor its past explains that
            return
        told: set[str] = set()
        for before in self._befores():
            pieces = self._left_by(before)
            if len(pieces) > 1 and not self._decide(pieces):
                continue
            pieces = pieces[:_MOST]
            together = self._given(pieces) if len(pieces) > 1 else None
            for piece in pieces:
                if piece.name in told:
                    continue
                rest = [one for one in pieces if one is not piece]
                if self._decides(piece) or self._decides_among(rest, together):
                    told.add(piece.name)
                    yield from self._parts(piece) or [piece.name]

    def _parts(self, piece: Piece) -> list[str]:
        """The keys of a dictionary under which it keeps what decides, if it keeps more."""
        changed = _changed(piece)
        if len(changed) < _FEWEST_PARTS:
            return []
        return [
            f"{piece.name}[{key!r}]"
            for key in changed
            if self._decides(replace(piece, now={**piece.before, key: piece.now[key]}))
        ]

    def _decide(self, pieces: Sequence[Piece]) -> bool:
        """Whether a later call, for which all of them are as the calls before have left them, has another
        answer than the first, or none. Where it has not, there is no need to ask about each."""
        futures = [list(_futures(piece)) for piece in pieces]
        for turn in range(max(map(len, futures))):
            both = zip(pieces, futures, strict=True)
            then = [replace(piece, now=seen[min(turn, len(seen) - 1)]) for piece, seen in both]
            answer = self._given(then)
            if answer is None or _differ(self._answer, answer):
                return True
        return False

    def _decides(self, piece: Piece) -> bool:
        return any(
            _differ(self._answer, self._given([replace(piece, now=value)]))
            for value in _futures(piece)
        )

    def _decides_among(self, rest: Sequence[Piece], together: _Answer | None) -> bool:
        """Of a mean and a count, only both say what a call makes of the mean."""
        return together is not None and _differ(together, self._given(rest))

    def _given(self, pieces: Sequence[Piece]) -> _Answer | None:
        """The answer of a model that only these are brought back to; None where it has none, or where
        enough has been asked."""
        if self._spent > _SECONDS:
            return None
        try:
            return self._asked(pieces)
        except RefusedError:  # a place beyond a table: no answer is no other answer
            return None

    def _left_by(self, leaves: Sequence[Any]) -> list[Piece]:
        """What a call changes, once all is as it was before."""
        found: list[Piece] = []
        self._steady()
        try:
            self._reference.left_by(
                leaves, lambda: found.extend(p for table in self._tables for p in table.pieces())
            )
        except RefusedError:  # values of ours
            return []
        return list({piece.name: piece for piece in found}.values())

    def _steady(self) -> None:
        """What every call moves on, and no reference puts back: generators of its own, weights."""
        give_back()
        for dice, state in zip(self._dice, self._thrown, strict=True):
            dice.set_state(state)

    def _asked(self, pieces: Sequence[Piece] = ()) -> _Answer:
        """The answer of a model that only these are brought back to."""
        self._steady()
        for piece in pieces:
            piece.put(_fresh(piece.now))
        try:
            return self._reference.call(self._example)
        finally:
            self._spent += self._reference.took

    def _befores(self) -> Iterator[list[Any]]:
        """The example, other values, and other values in one place: what is kept by the name of one input
        is found again under that name only."""
        yield self._example
        others = self._others()
        yield others
        given = [place for place, one in enumerate(others) if isinstance(one, torch.Tensor)]
        for place in given if len(given) > 1 else ():
            if self._spent <= _SECONDS:
                yield [*self._example[:place], others[place], *self._example[place + 1 :]]

    def _others(self) -> list[Any]:
        generator = torch.Generator().manual_seed(0)
        return [
            valued(value, value.shape, Values.WILD, generator)
            if isinstance(value, torch.Tensor)
            else value
            for value in self._example
        ]


def _changed(piece: Piece) -> list[Any]:
    if not (isinstance(piece.now, dict) and isinstance(piece.before, dict)):
        return []
    before = piece.before
    return [key for key, now in piece.now.items() if key not in before or before[key] is not now]


def _differ(one: _Answer, other: _Answer | None) -> bool:
    if other is None:
        return False
    if len(one) != len(other):
        return True
    return any(
        compare(a, to_array(b if isinstance(b, torch.Tensor) else torch.tensor(b))).problem
        for a, b in zip(one, other, strict=True)
    )


def _dice(module: torch.nn.Module) -> Iterator[torch.Generator]:
    held = (value for space in belongings.namespaces(module) for value in space.values())
    yield from {id(each): each for each in held if isinstance(each, torch.Generator)}.values()


def _futures(piece: Piece) -> Iterator[Any]:
    """What it is after the next call, and, of what grows, after later ones."""
    yield piece.now
    if isinstance(piece.now, dict) and isinstance(piece.before, dict):
        grown = {
            key: (piece.before[key], now)
            for key, now in piece.now.items()
            if key in piece.before and _grows(piece.before[key], now)
        }
        for calls in _LATER if grown else ():
            yield {**piece.now, **{key: _after(*pair, calls) for key, pair in grown.items()}}
    elif _grows(piece.before, piece.now):
        yield from (_after(piece.before, piece.now, calls) for calls in _LATER)


def _after(before: Any, now: Any, calls: int) -> Any:
    return now + calls * (now - before)


def _grows(before: Any, now: Any) -> bool:
    numbers = all(type(each) in (int, float) for each in (before, now))
    return numbers and before != now


def _fresh(value: Any) -> Any:
    """The same, for a call to write to."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if type(value) in (list, tuple):
        return type(value)(_fresh(each) for each in value)
    if type(value) is dict:
        return {key: _fresh(each) for key, each in value.items()}
    return value
