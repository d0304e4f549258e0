"""Two sides of a branch made one again: what both do at their ends is done once, after the branch.

The ends are held against each other from the last call backwards. Where they differ in a value, the
branch gives it; where they differ in a size, the size gets a symbol of its own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import sympy
import torch
from torch._ops import OpOverload
from torch.utils._sympy.functions import Max, Min

from onnxpert.capture.forking.paths import Fork, Item, Join, Part, Use, changed
from onnxpert.capture.forking.questions import Question
from onnxpert.capture.forking.traces import Expr, Look, Number, Step
from onnxpert.core.source import Frame


class SidesDifferError(RuntimeError):
    """The sides of a branch end in things that no one value can stand for; `frames` says which."""

    def __init__(self, text: str, frames: tuple[Frame, ...] = ()) -> None:
        super().__init__(text)
        self.frames = frames


def joined(question: Question, main: Part, other: Part) -> Part:
    """The branch, then what both sides have in common, told in the words of `main`."""
    common = _Common(main, other)
    count = common.length()
    cut, cut_other = len(main.items) - count, len(other.items) - count
    merger = _Merger(main, other, question)
    tail = [
        merger.use(a, b)  # type: ignore[arg-type]
        for a, b in zip(main.items[cut:], other.items[cut_other:], strict=True)
    ]
    ends = tuple(merger.value(a, b) for a, b in zip(main.ends, other.ends, strict=True))
    sides = (main.items[:cut], other.items[:cut_other])
    joins = merger.joins()
    if not joins and not changed((*sides[0], *sides[1]), set()):  # the question makes no difference
        return Part(tuple(tail), ends, main.facts)
    if not question.answer:
        sides = (sides[1], sides[0])
        joins = [replace(join, yes=join.no, no=join.yes) for join in joins]
    fork = Fork(question.condition, question, *sides, tuple(joins))
    return Part((fork, *tail), ends, main.facts)


class _Common:
    """How many calls at the ends of two parts are the same."""

    def __init__(self, main: Part, other: Part) -> None:
        self._main, self._other = main, other
        self._straight = [_straight(main.items), _straight(other.items)]
        self._places = [
            {use.step: place for place, use in enumerate(reversed(straight))}
            for straight in self._straight
        ]
        self._limit = min(map(len, self._straight))

    def length(self) -> int:
        for pair in zip(self._main.ends, self._other.ends, strict=True):
            for a, b in _step_pairs(*pair):
                self._part(a, b)
        pairs: list[tuple[int, Step, Step]] = []  # (where it is used, the two values)
        at = 0
        while at < self._limit:
            found = _matched(*(straight[-1 - at] for straight in self._straight))
            if found is None:
                break
            for pair in found:
                self._part(*pair)
                pairs.append((at, *pair))
            at += 1
        return self._joinable(min(at, self._limit), pairs)

    def _part(self, a: Step, b: Step) -> None:
        """Values at different places of the two ends are made before what is common begins."""
        places = [self._places[0].get(a), self._places[1].get(b)]
        known = [place for place in places if place is not None]
        if known and places[0] != places[1]:
            self._limit = min(self._limit, *known)

    def _joinable(self, count: int, pairs: Sequence[tuple[int, Step, Step]]) -> int:
        while True:
            made = [straight[len(straight) - count :] for straight in self._straight]
            inside = {use.step for uses in made for use in uses}
            outside = [
                (at, a, b)
                for at, a, b in pairs
                if at < count and a is not b and not {a, b} & inside
            ]
            ends = [
                pair
                for ends in zip(self._main.ends, self._other.ends, strict=True)
                for pair in _step_pairs(*ends)
                if pair[0] is not pair[1] and not set(pair) & inside
            ]
            shared = {each.base for _, a, b in outside for each in (a, b)}
            shared |= {each.base for pair in ends for each in pair}
            bad = [at for at, a, b in outside if not _alike(a.out, b.out)]
            # A tensor that came out of the branch is a new one: a write must not want the old.
            bad += [
                at
                for at in range(count)
                for straight in self._straight
                if any(each.base in shared for each in straight[-1 - at].written())
            ]
            if not bad:
                return count
            count = min(bad)


def _straight(items: Sequence[Item]) -> list[Use]:
    """The calls after the last branch or loop."""
    found: list[Use] = []
    for item in reversed(items):
        if not isinstance(item, Use):
            break
        found.append(item)
    return found[::-1]


def _matched(a: Use, b: Use) -> list[tuple[Step, Step]] | None:
    """The values that two calls are given, if the calls are the same but for those."""
    if a.step.target != b.step.target or a.kwargs.keys() != b.kwargs.keys():
        return None
    if not _alike(a.out, b.out):
        return None
    found: list[tuple[Step, Step]] = []
    numbers = _number_places(a.step.target)
    if len(a.args) != len(b.args):
        return None
    both = zip(a.args, b.args, strict=True)
    pairs = [(x, y, place in numbers) for place, (x, y) in enumerate(both)]
    pairs += [(a.kwargs[key], b.kwargs[key], key in numbers) for key in a.kwargs]
    for x, y, free in pairs:
        if not _fit(x, y, free, found):
            return None
    return found


def _number_places(target: Any) -> set[int | str]:
    """Where a call takes any number: `x * 2`, but not `x.sum(2)`."""
    if not isinstance(target, OpOverload):
        return set()
    found: set[int | str] = set()
    for index, argument in enumerate(target._schema.arguments):
        if str(argument.type).removeprefix("Optional[").startswith("number"):
            found |= {index, argument.name}
    return found


def _fit(x: Any, y: Any, free: bool, found: list[tuple[Step, Step]]) -> bool:
    if isinstance(x, Step) and isinstance(y, Step):
        found.append((x, y))
        return True
    if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
        return len(x) == len(y) and all(_fit(a, b, free, found) for a, b in zip(x, y, strict=True))
    if _kind(x) is not None and _kind(x) is _kind(y):
        symbolic = isinstance(x, Number) or isinstance(y, Number)
        return symbolic or free or x == y
    return type(x) is type(y) and bool(x == y)


def _kind(value: Any) -> type | None:
    """What kind of number: as torch's symbols have it."""
    if isinstance(value, Number):
        return value.kind
    kinds = {bool: torch.SymBool, int: torch.SymInt, float: torch.SymFloat}
    return kinds.get(type(value))


def _alike(x: Any, y: Any) -> bool:
    """Whether one value can stand for both."""
    if isinstance(x, Look) and isinstance(y, Look):
        return x.dtype == y.dtype and len(x.sizes) == len(y.sizes)
    if isinstance(x, tuple) and isinstance(y, tuple):
        return len(x) == len(y) and all(_alike(a, b) for a, b in zip(x, y, strict=True))
    if _kind(x) is not None:
        return _kind(x) is _kind(y)
    return type(x) is type(y) and bool(x == y)


def _step_pairs(x: Any, y: Any) -> Iterator[tuple[Step, Step]]:
    if isinstance(x, Step) and isinstance(y, Step):
        yield x, y


class _Merger:
    """Says the same of two calls at once."""

    def __init__(self, main: Part, other: Part, question: Question) -> None:
        self._question = question
        self._facts = (main.facts, other.facts)
        self._same: dict[tuple[Step, Step], Any] = {}
        self._values: dict[tuple[Step, Step], Join] = {}
        self._sizes: dict[tuple[Expr, Expr], Expr] = {}
        self._needed: dict[Expr, Join] = {}
        self._names: dict[Expr, Expr] = {}  # a symbol of the other's -> the main one's

    def use(self, a: Use, b: Use) -> Use:
        args = tuple(self.value(x, y) for x, y in zip(a.args, b.args, strict=True))
        kwargs = {key: self.value(value, b.kwargs[key]) for key, value in a.kwargs.items()}
        self._same[a.step, b.step] = a.step
        return Use(a.step, args, kwargs, self._out(a.out, b.out))

    def value(self, x: Any, y: Any) -> Any:
        if isinstance(x, Step) and isinstance(y, Step):
            return x if x is y else self._same.get((x, y)) or self._joined(x, y)
        if isinstance(x, (list, tuple)) and isinstance(y, (list, tuple)):
            return type(x)(self.value(a, b) for a, b in zip(x, y, strict=True))
        if _kind(x) is not None and _kind(x) is _kind(y):
            return self._number(x, y)
        if isinstance(x, Step) or isinstance(y, Step) or type(x) is not type(y) or x != y:
            raise SidesDifferError(f"one side gives {_said(x)}, the other {_said(y)}")
        return x

    def joins(self) -> list[Join]:
        known = {
            size
            for join in self._values.values()
            for size in (join.out.sizes if isinstance(join.out, Look) else ())
        }
        numbers = [join for symbol, join in self._needed.items() if symbol not in known]
        return [*self._values.values(), *numbers]

    def _joined(self, x: Step, y: Step) -> Step:
        if (x, y) not in self._values:
            if not _alike(x.out, y.out):
                raise SidesDifferError(f"one side gives {_said(x)}, the other {_said(y)}")
            out = self._out(x.out, y.out)
            key = Step("join", out=out, meta=x.meta, name=x.name)
            key.base = key
            self._values[x, y] = Join(key, out, x, y)
        key = self._values[x, y].key
        assert isinstance(key, Step)
        return key

    def _number(self, x: Any, y: Any) -> Any:
        kind = _kind(x)
        a, b = (v.expr if isinstance(v, Number) else sympy.sympify(v) for v in (x, y))
        expr = symbol = self._size(a, b, _kind(x) is torch.SymFloat)
        if symbol in self._sizes.values():
            if kind is torch.SymBool:  # as torch has it: a number that is compared with 1
                expr = sympy.Eq(symbol, 1)
            self._needed.setdefault(symbol, Join(symbol, Number(kind, expr), x, y))  # type: ignore[arg-type]
        if expr.free_symbols:
            return Number(kind, expr)  # type: ignore[arg-type]
        return x

    def _out(self, x: Any, y: Any) -> Any:
        if isinstance(x, tuple):
            return tuple(self._out(a, b) for a, b in zip(x, y, strict=True))
        if isinstance(x, Look):
            pairs = zip(x.sizes, y.sizes, strict=True)
            sizes = tuple(self._size(a, b, made=True) for a, b in pairs)
            return x if sizes == x.sizes else Look(x.dtype, sizes, ())
        if isinstance(x, Number):
            return Number(x.kind, self._size(x.expr, y.expr, made=True))
        return x

    def _size(self, a: Expr, b: Expr, is_float: bool = False, *, made: bool = False) -> Expr:
        """One expression for two; `made`: of a result, where a call may give a new symbol."""
        if made and self._is_alike(a, b):
            return a
        told = b.xreplace({symbol: self._told(symbol) for symbol in b.free_symbols})
        if a == told or self._facts[1](a) == self._facts[1](told):
            return a
        if self._facts[0](told) == self._facts[0](a):
            return told
        extremum = _extremum(self._question, a, b)
        if extremum is not None:
            return extremum
        if (a, b) not in self._sizes:
            later = {*self._names.values(), *self._names}
            # Of a result that has such a size, the call that gives it tells.
            if not made and not later.isdisjoint(a.free_symbols | b.free_symbols):
                raise SidesDifferError(
                    "a number is told by the question and by what is read after it"
                )
            self._sizes[a, b] = fresh_symbol(is_float)
        return self._sizes[a, b]

    def _is_alike(self, one: Expr, other: Expr) -> bool:
        """The same of two symbols for what the data say, each run's own: one for one, or not at all."""
        if not is_renamed(one, other):
            return False
        (a,), (b,) = one.free_symbols, other.free_symbols
        if b not in self._names and a not in self._names.values():
            self._names[b] = a
        return bool(self._names.get(b) == a)

    def _told(self, symbol: Expr) -> Expr:
        taken = symbol in self._names.values()
        return self._names.get(symbol, sympy.Dummy() if taken else symbol)


def _extremum(question: Question, a: Expr, b: Expr) -> Expr | None:
    """`a if a > b else b` is the larger one."""
    condition = question.condition
    if question.about_data or not condition.is_Relational or {a, b} != set(condition.args):
        return None
    yes = a if question.answer else b
    if isinstance(condition, (sympy.Gt, sympy.Ge)):
        return (Max if yes == condition.lhs else Min)(a, b)
    if isinstance(condition, (sympy.Lt, sympy.Le)):
        return (Min if yes == condition.lhs else Max)(a, b)
    return None


_COUNT = iter(range(10**9))


def fresh_symbol(is_float: bool = False) -> Expr:
    """A size or number that neither side has a name for."""
    number = next(_COUNT)
    if is_float:
        return sympy.Symbol(f"joined_float_{number}", real=True)
    return sympy.Symbol(f"joined_{number}", integer=True)


def is_renamed(one: Expr, other: Expr) -> bool:
    """Whether two expressions are the same but for the name of one number of the data's."""
    if len(one.free_symbols) != 1 or len(other.free_symbols) != 1:
        return False
    (a,), (b,) = one.free_symbols, other.free_symbols
    of_data = all(str(symbol).startswith(("u", "zuf")) for symbol in (a, b))
    return bool(of_data and other.xreplace({b: a}) == one)


def _said(value: Any) -> str:
    look = value.out if isinstance(value, Step) else value
    if isinstance(look, Look):
        return f"{str(look.dtype).removeprefix('torch.')} of {len(look.sizes)} dimensions"
    return f"{look!r}" if not isinstance(look, Number) else "a number"
