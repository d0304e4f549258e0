"""Which sides of a model's branches an input takes, and inputs that take those no other did.

A number that only the data know, and how many a mask lets through, has sides too: none, one, more. The
captured graph is run on real values: its conditions are those of the file."""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, TypeAlias

import sympy
import torch
from torch import fx
from torch.utils._sympy.symbol import SymT, symbol_is_type

from onnxpert.core.calls import calls
from onnxpert.core.types import Branch, BranchTaken, Captured, InputKind
from onnxpert.verify.allowance import Allowance
from onnxpert.verify.cases import across
from onnxpert.verify.inputs import Case, Inputs
from onnxpert.verify.patience import Limit, Patience
from onnxpert.verify.steering import STEPS, steered
from onnxpert.verify.turning import aimed, led, turned
from onnxpert.verify.values import Values
from onnxpert.verify.walk import Plans, Walk

# The number of a branch and which side, or the name of a number and whether it is -1, 0, 1 or more.
Taken: TypeAlias = set[tuple[int | str, bool | int]]
# What may be computed to find inputs, which every machine counts alike; and the seconds of the
# processor's after which even a slow one is not kept.
_LONGEST = Limit(200_000, 20.0)  # of one run of the graph
_WORK, _SECONDS = 60_000, 20.0
_WORK_ACROSS, _SECONDS_ACROSS = 12_000, 4.0
_WORK_AIMED, _SECONDS_AIMED = 12_000, 4.0
_ELEMENTS = 10_000  # take about as long as to call torch at all
_MOST_NUMBERS = 16
_FAR_BEYOND = 10  # of one element, it moves a mean or a spread
_MANY = 2
_STARTS = 3  # beside the example, of a search that is led


def has_sides(captured: Captured | None) -> bool:
    """Whether Python's own branches or loops are in it, those that a user wrote as such apart, or
    numbers that only the data know."""
    return captured is not None and (_branches(captured) or bool(_counted_in(captured)))


def _branches(captured: Captured) -> bool:
    return any("branch" in node.meta or "loop" in node.meta for node in captured.root.graph.nodes)


def _counted_in(captured: Captured) -> set[Any]:
    """The symbols of such numbers."""
    return {one for node in calls(captured.root) for one in _counted(node.meta.get("val"))}


def _left_by_branches(captured: Captured) -> set[Any]:
    """Those that stand for sizes in which the sides of a branch differ: it decides about them."""
    left = [
        node
        for node in calls(captured.root)
        if node.target is operator.getitem
        and getattr(node.args[0], "target", None) is torch.ops.higher_order.cond
    ]
    return {one for node in left for one in _counted(node.meta.get("val"))}


def _counted(value: Any) -> set[Any]:
    sizes = value.shape if isinstance(value, torch.Tensor) else (value,)
    return {
        size.node.expr
        for size in sizes
        if isinstance(size, torch.SymInt)
        and size.node.expr.is_Symbol
        and symbol_is_type(size.node.expr, SymT.UNBACKED_INT)
    }


_RECURRENT = frozenset({"aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu"})
_SORTED = torch.ops.aten.sort.stable  # what Python's `sorted` is written as


class Sides:
    """What a proof has seen of the branches so far."""

    def __init__(self, captured: Captured) -> None:
        self._captured = captured
        self.branching = _branches(captured)
        by_data = any(branch.about_data for branch in captured.branches)
        self.by_values = by_data or bool(_counted_in(captured) - _left_by_branches(captured))
        self.seen: Taken = set()
        self._elsewhere: Taken = set()  # at other sizes than the example's
        self._ends = False  # whether some input came to the end of the graph
        self.calls = sum(1 for _ in calls(captured.root))
        self.work = 0  # that was done to tell, in calls of torch's
        self._plans = Plans()

    def note(self, leaves: Mapping[str, Any], *, resized: bool = False) -> bool:
        """Whether these inputs take a side that none before did."""
        taken = self.taken(leaves)
        new = taken - self.seen
        self.seen |= new
        if resized:
            self._elsewhere |= taken
        return bool(new)

    @property
    def takes_no_nan(self) -> bool:
        """Whether a NaN leads to what is nobody's fault: the kernels of recurrent layers make a number
        of it, and Python's `sorted` an order of chance."""
        return any(
            node.target is _SORTED or str(getattr(node.target, "overloadpacket", "")) in _RECURRENT
            for node in calls(self._captured.root)
        )

    @property
    def all_elsewhere(self) -> bool:
        """Whether each side that was taken at the example's sizes was taken at others too."""
        return self._of_branches <= self._elsewhere

    @property
    def _of_branches(self) -> Taken:
        return {one for one in self.seen if isinstance(one[0], int)}

    def taken(self, leaves: Mapping[str, Any]) -> Taken:
        """The sides that these inputs take."""
        given = [
            _real(leaves[entry.name]) if entry.kind is InputKind.USER else entry.tensor
            for entry in self._captured.inputs
        ]
        if not self.by_values:
            self.work += 1
            look = _Walk(self._plans)
            if look.told_by_sizes(self._captured.root, given):
                return look.taken
        walk = _Walk(self._plans)
        try:
            with torch.no_grad(), Patience(_LONGEST):
                walk.run(self._captured.root, given)
            self._ends = True
        except Exception:
            # The model refuses these, and nothing is compared; if none came to an end, it is the walk.
            return set() if self._ends else walk.taken
        finally:
            self.work += walk.work
        return walk.taken

    def missing(self) -> list[tuple[int, bool]]:
        """The sides that are left, of branches that values decide."""
        branches = enumerate(self._captured.branches)
        by_values = [number for number, branch in branches if branch.about_data]
        every = [(number, side) for number in by_values for side in (True, False)]
        return [one for one in every if one not in self.seen]

    def led(self, leaves: Mapping[str, Any], number: int, side: bool) -> Any:
        """Values that lead there from these, where the search for them finds any."""
        self.work += self.calls * STEPS
        with Patience(_LONGEST):
            return steered(self._captured, leaves, number, side)

    def line(self, number: int) -> int:
        place = self._captured.branches[number].location
        return place.line if place is not None else number

    def all_taken(self) -> bool:
        """Of the branches that values decide: what sizes decide, no values do."""
        return not self.missing()

    @property
    def numbers(self) -> tuple[float, ...]:
        """What the model compares anything with, and what is just beside it."""
        found: dict[float, None] = {}
        for number in filter(math.isfinite, _compared_with(self._captured)):
            found |= dict.fromkeys((number, number + 1, number - 1, number * _FAR_BEYOND))
        return tuple(found)[:_MOST_NUMBERS]

    def all_counted(self) -> bool:
        """Whether each number was seen to be nothing and something."""
        names = {name for name, _ in self.seen if isinstance(name, str)}
        return all((name, 0) in self.seen and (name, _MANY) in self.seen for name in names)

    def report(self, without: AbstractSet[Any] = frozenset()) -> tuple[BranchTaken, ...]:
        """Each branch of the source once, wherever the graph has it, but for what was in vain."""
        found: dict[Any, tuple[Branch, set[bool]]] = {}
        for number, branch in enumerate(self._captured.branches):
            sides = {bool(side) for at, side in self.seen - without if at == number}
            found.setdefault(branch.location or number, (branch, set()))[1].update(sides)
        return tuple(BranchTaken(b, True in sides, False in sides) for b, sides in found.values())


class _Budget:
    """Of a search that begins now."""

    def __init__(self, sides: Sides, work: int, seconds: float) -> None:
        self._sides, self._work = sides, sides.work + work
        self._end = time.thread_time() + seconds

    @property
    def is_spent(self) -> bool:
        return self._sides.work > self._work or time.thread_time() > self._end


def further(inputs: Inputs, sides: Sides, seed: int, allowance: Allowance) -> Iterator[Case]:
    """Cases that take a side no other took, as long as there is one, and time to look for it."""
    budget = _Budget(sides, _WORK, _SECONDS)
    for case in turned(inputs):
        # A number that is never nothing shall not keep us for long.
        is_counting = not budget.is_spent and not sides.all_counted()
        if allowance.is_spent or (sides.all_taken() and not is_counting):
            return
        # It leads to other sides, not to other numbers.
        if case.values is Values.NAN and (sides.takes_no_nan or sides.all_taken()):
            continue
        if _is_new(inputs, sides, case, seed):
            yield case
    budget = _Budget(sides, _WORK_AIMED, _SECONDS_AIMED)
    for case in aimed(inputs, sides.numbers):
        if sides.all_taken() or budget.is_spent:
            return
        if case.values is not Values.NAN and _is_new(inputs, sides, case, seed):
            yield case


def further_led(inputs: Inputs, sides: Sides, seed: int, allowance: Allowance) -> Iterator[Case]:
    """Cases that were led to the sides that are left: from the example, and from where it turned before."""
    budget = _Budget(sides, _WORK_AIMED, _SECONDS_AIMED)
    names = [leaf.name for leaf in inputs.loaded.leaves]
    starts = [Case(f"{number}", inputs.example, Values.WILD) for number in range(_STARTS)]
    for number, side in sides.missing():
        for start in (Case("", inputs.example, Values.EXAMPLE), *starts):
            if (number, side) in sides.seen or allowance.is_spent or budget.is_spent:
                break
            leaves = dict(zip(names, inputs.build(start, seed), strict=True))
            found = sides.led(leaves, number, side)
            if found is not None:
                case = led(inputs, found, sides.line(number), len(sides.seen))
                if _is_new(inputs, sides, case, seed):
                    yield case


def further_across(
    inputs: Inputs, sides: Sides, sizes: Iterable[Mapping[str, int]], seed: int
) -> Iterator[Case]:
    """The same at these sizes, for sides that no values take at the example's."""
    budget = _Budget(sides, _WORK_ACROSS, _SECONDS_ACROSS)
    for at in sizes:
        for case in turned(inputs):
            if sides.all_taken() or budget.is_spent:
                return
            moved = across(inputs, case, at)
            if case.values is not Values.NAN and _is_new(inputs, sides, moved, seed):
                yield moved


def _is_new(inputs: Inputs, sides: Sides, case: Case, seed: int) -> bool:
    names = [leaf.name for leaf in inputs.loaded.leaves]
    return sides.note(dict(zip(names, inputs.build(case, seed), strict=True)))


_COMPARED = frozenset(f"aten.{how}" for how in ("eq", "ne", "lt", "le", "gt", "ge"))


def _compared_with(captured: Captured) -> Iterator[float]:
    for node in calls(captured.root):
        if str(getattr(node.target, "overloadpacket", "")) in _COMPARED:
            yield from (each for each in node.args if type(each) in (int, float))
        for value in (node.meta.get("val"), *node.args):
            if isinstance(value, torch.SymBool):
                yield from map(_plain, value.node.expr.atoms(sympy.Number))


def _plain(number: sympy.Number) -> float:
    return int(number) if number.is_Integer else float(number)


def _real(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


class _Walk(Walk):
    """One run that remembers the sides it takes."""

    def __init__(self, plans: Plans) -> None:
        super().__init__(plans)
        self.taken: Taken = set()
        self.work = 0

    def _call(self, node: fx.Node, args: Any, kwargs: Any) -> Any:
        value = super()._call(node, args, kwargs)
        made = value if isinstance(value, (list, tuple)) else (value,)
        elements = sum(each.numel() for each in made if isinstance(each, torch.Tensor))
        self.work += 1 + elements // _ELEMENTS
        return value

    def took(self, node: fx.Node, side: bool) -> None:
        if "branch" in node.meta:
            self.taken.add((node.meta["branch"], side))

    def counted(self, symbol: Any, value: Any) -> None:
        if symbol_is_type(symbol, SymT.UNBACKED_INT):
            self.taken.add((str(symbol), max(-1, min(int(value), _MANY))))
