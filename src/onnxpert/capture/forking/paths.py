"""The paths of a model as one structure: calls in a row, branches with two sides, loops with a body."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from onnxpert.capture.forking.questions import Question
from onnxpert.capture.forking.traces import Expr, Look, Number, Step, mapped, steps_in

Facts: TypeAlias = Callable[[Expr], Expr]  # an expression as a path knows it


@dataclass(frozen=True, slots=True)
class Use:
    """A Step where it is done, with what it is given there."""

    step: Step
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]
    out: Any

    def given(self) -> Iterator[Step]:
        yield from steps_in((self.args, tuple(self.kwargs.values())))

    def written(self) -> list[Step]:
        return Step(self.step.target, self.args, self.kwargs).written()


@dataclass(frozen=True, slots=True)
class Join:
    """What stands for a value of either side after the branch: a Step, or the symbol of a number."""

    key: Any
    out: Any
    yes: Any
    no: Any


@dataclass(frozen=True, slots=True)
class Fork:
    """A branch: a condition, what is done on each side, what comes out."""

    condition: Expr
    question: Question
    yes: tuple[Item, ...]
    no: tuple[Item, ...]
    joins: tuple[Join, ...]


@dataclass(frozen=True, slots=True)
class Carry:
    """What a loop hands from turn to turn, by its names: after the loop, in a turn, before, next."""

    key: Step
    out: Any
    inside: Step
    first: Any
    next: Any


@dataclass(frozen=True, slots=True)
class Loop:
    """A `while`: whether it starts, whether it goes on after a turn, and what a turn does."""

    question: Question
    start: Expr
    again: Expr
    body: tuple[Item, ...]
    carried: tuple[Carry, ...]


Item: TypeAlias = Use | Fork | Loop


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of the model, and the values that it ends with."""

    items: tuple[Item, ...]
    ends: tuple[Any, ...]
    facts: Facts = field(compare=False)


def used(step: Step) -> Use:
    return Use(step, step.args, step.kwargs, step.out)


# ---- other words for the same --------------------------------------------------------------


def rebound_value(value: Any, steps: Mapping[Step, Any], symbols: Mapping[Expr, Expr]) -> Any:
    """The same value by its other name."""

    def leaf(each: Any) -> Any:
        if isinstance(each, Step):
            return steps.get(each, each)
        if isinstance(each, Number):
            return Number(each.kind, each.expr.xreplace(symbols))
        if isinstance(each, Look):
            return Look(each.dtype, tuple(s.xreplace(symbols) for s in each.sizes), ())
        return each

    return mapped(value, leaf)


def rebound(
    items: Sequence[Item], steps: Mapping[Step, Any], symbols: Mapping[Expr, Expr]
) -> tuple[Item, ...]:
    """The same items with other names for some values."""

    def value(each: Any) -> Any:
        return rebound_value(each, steps, symbols)

    def item(each: Item) -> Item:
        if isinstance(each, Use):
            kwargs = {key: value(given) for key, given in each.kwargs.items()}
            return Use(each.step, value(each.args), kwargs, value(each.out))
        if isinstance(each, Loop):
            carried = tuple(
                Carry(c.key, value(c.out), c.inside, value(c.first), value(c.next))
                for c in each.carried
            )
            start, again = each.start.xreplace(symbols), each.again.xreplace(symbols)
            return Loop(each.question, start, again, tuple(map(item, each.body)), carried)
        joins = tuple(Join(j.key, value(j.out), value(j.yes), value(j.no)) for j in each.joins)
        yes, no = (tuple(map(item, side)) for side in (each.yes, each.no))
        return Fork(each.condition.xreplace(symbols), each.question, yes, no, joins)

    return tuple(map(item, items)) if steps or symbols else tuple(items)


# ---- what is made and written where --------------------------------------------------------


def walk(items: Sequence[Item]) -> Iterator[Item]:
    """Every item, those within others too."""
    for item in items:
        yield item
        if isinstance(item, Fork):
            yield from walk((*item.yes, *item.no))
        elif isinstance(item, Loop):
            yield from walk(item.body)


def made(items: Sequence[Item]) -> set[Step]:
    """What comes into being within the items."""
    found: set[Step] = set()
    for item in walk(items):
        if isinstance(item, Use):
            found.add(item.step)
        elif isinstance(item, Fork):
            found |= {join.key for join in item.joins if isinstance(join.key, Step)}
        else:
            found |= {carry.key for carry in item.carried}
            found |= {carry.inside for carry in item.carried}
    return found


def hidden(items: Sequence[Item]) -> set[Step]:
    """What is made within branches and loops, and not given by them."""
    return made(items) - {
        step
        for item in items
        for step in (
            [item.step]
            if isinstance(item, Use)
            else [join.key for join in item.joins if isinstance(join.key, Step)]
            if isinstance(item, Fork)
            else [carry.key for carry in item.carried]
        )
    }


def read(items: Sequence[Item]) -> Iterator[Step]:
    """What the items are given."""
    for item in walk(items):
        if isinstance(item, Use):
            yield from item.given()
        elif isinstance(item, Fork):
            yield from steps_in([(join.yes, join.no) for join in item.joins])
        else:
            yield from steps_in([(carry.first, carry.next) for carry in item.carried])


def changed(items: Sequence[Item], own: set[Step]) -> list[Step]:
    """The tensors from outside that an item writes to, itself or through a view."""
    inside = made(items) | own
    found: dict[Step, None] = {}
    for item in walk(items):
        for step in item.written() if isinstance(item, Use) else ():
            if step.base is not None and step.base not in inside:
                found.setdefault(step.base)
    return list(found)


def has_second_name(
    branch: Sequence[Item], rest: Sequence[Item], ends: Sequence[Any], bound: Mapping[Step, Any]
) -> bool:
    """Whether what follows a branch writes to what came out of it, or to what that was on a side, and
    it is known by a name that is not `bound` to what came out: there it is a tensor of its own."""
    joins = [join for item in branch if isinstance(item, Fork) for join in item.joins]
    known = [*read(rest), *steps_in(tuple(ends))]
    for item in walk(rest):
        for base in {step.base for step in item.written()} if isinstance(item, Use) else ():
            keys = [j.key for j in joins if any(s.base is base for s in steps_in((j.yes, j.no)))]
            if len(set(keys)) > 1:
                return True
            if keys and any(one.base is base and one not in bound for one in known):
                return True
    return False
