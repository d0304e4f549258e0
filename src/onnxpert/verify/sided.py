"""The cases that a model's branches ask for: each side taken, at the example's sizes and at others."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from onnxpert.core.types import BranchTaken
from onnxpert.verify import cases
from onnxpert.verify.allowance import Allowance
from onnxpert.verify.branches import Sides, further, further_across, further_led
from onnxpert.verify.inputs import Case, Inputs
from onnxpert.verify.patience import Limit

_MOST_TURNED = 6  # cases that take sides of their own, at other sizes too
_MOST_CALLS = 50_000  # of torch's in one of the model, beside so many times what the graph has
_TIMES_AS_MANY = 40
_MOST_AT_LARGE_SIZES = 250_000
_LONGEST = 10.0  # seconds, beside so many times what the example takes: where each call takes long
_LONGEST_AT_LARGE_SIZES = 60.0
# The graph's calls, in cases that take a side where an assumption is broken; fewer count as so many.
_MOST_ACROSS, _FEWEST = 2_000, 100


@dataclass(slots=True)
class SidedCases:
    inputs: Inputs
    sides: Sides
    seed: int
    allowance: Allowance
    beyond: tuple[Mapping[str, int], ...] = ()  # sizes that break an assumption
    _turned: tuple[Case, ...] = ()  # with values that take sides which the example does not
    _noted: set[str] = field(
        default_factory=set
    )  # cases of which it is known which sides they take
    compared: list[Case] = field(default_factory=list)
    unended: list[Case] = field(default_factory=list)  # that the model was not waited for

    @property
    def branching(self) -> bool:
        return self.sides.branching

    @property
    def by_values(self) -> bool:
        return self.sides.by_values

    def report(self) -> tuple[BranchTaken, ...]:
        """The sides that were compared: what a model did not come back from was not."""
        in_vain = set[Any]().union(*map(self._taken, self.unended))
        for case in self.compared if in_vain else ():
            in_vain -= self._taken(case)
        return self.sides.report(in_vain)

    def _taken(self, case: Case) -> set[Any]:
        names = [leaf.name for leaf in self.inputs.loaded.leaves]
        return self.sides.taken(dict(zip(names, self.inputs.build(case, self.seed), strict=True)))

    def patience(self, case: Case, took: float) -> Limit:
        """How long the model is waited for, where the example took so many seconds. Where sizes alone
        say how often it loops, what is larger may take as much longer."""
        calls = _MOST_CALLS + _TIMES_AS_MANY * self.sides.calls
        seconds = _LONGEST + _TIMES_AS_MANY * took
        if self.by_values:
            return Limit(calls, seconds)
        example = self.inputs.example
        grown = math.prod(
            max(size / max(example.get(name, size), 1), 1) for name, size in case.sizes.items()
        )
        return Limit(
            max(calls, min(math.ceil(grown * calls), _MOST_AT_LARGE_SIZES)),
            max(seconds, min(grown * seconds, _LONGEST_AT_LARGE_SIZES)),
        )

    def here(self, tried: Iterable[Case]) -> list[cases.Wish]:
        """What takes the sides that those cases do not."""
        for case in tried:
            self.note(case, self.inputs.build(case, self.seed))
        self._turned = tuple(further(self.inputs, self.sides, self.seed, self.allowance))
        self._turned += tuple(further_led(self.inputs, self.sides, self.seed, self.allowance))
        sizes = (*self.beyond, *cases.small(self.inputs))
        self._turned += tuple(further_across(self.inputs, self.sides, sizes, self.seed))
        self._noted |= {case.name for case in self._turned}
        return [cases.Wish((case,)) for case in self._turned]

    def elsewhere(self, effort: float) -> Iterator[cases.Wish]:
        """The same sides at other sizes: they may have kept the example's."""
        example = self.inputs.example
        turned = [case for case in self._turned if case.sizes == example][:_MOST_TURNED]
        for case in (cases.example(self.inputs), *turned):
            large, small = cases.elsewhere(self.inputs, case, effort)
            yield large
            if not self.sides.all_elsewhere:
                yield small
        # What one side assumes of a size only shows there on that side.
        pairs = itertools.product(turned, self.beyond)
        most = _MOST_ACROSS // max(self.sides.calls, _FEWEST)
        for case, sizes in itertools.islice(pairs, most):
            yield cases.Wish((cases.across(self.inputs, case, sizes),))

    def note(self, case: Case, leaves: Sequence[Any]) -> None:
        """Which sides a case takes; to tell is to run the whole graph."""
        if self.allowance.is_spent or case.name in self._noted:
            return
        self._noted.add(case.name)
        names = [leaf.name for leaf in self.inputs.loaded.leaves]
        resized = self.inputs.sizes_of(leaves) != self.inputs.example
        self.sides.note(dict(zip(names, leaves, strict=True)), resized=resized)
