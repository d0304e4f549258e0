"""Functions of `itertools` and `functools`, where only a run of the file knows how much there is."""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch

from onnxpert.capture.written.exits import UnwritableError
from onnxpert.capture.written.held import UNDEFINED
from onnxpert.capture.written.sequences import Steps, listed, steps
from onnxpert.capture.written.units import Variables

if TYPE_CHECKING:
    from onnxpert.capture.written.flow import Flow

Function = Callable[..., Any]
_sym: Any = torch  # whose functions of symbols have no types


class Iterating:
    """What rewritten code calls by their names."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow

    def table(self) -> Mapping[Any, Function]:
        return {
            functools.reduce: self._reduce,
            itertools.accumulate: self._accumulate,
            itertools.pairwise: _pairwise,
            itertools.product: _product,
            itertools.combinations: _combinations,
        }

    def _reduce(self, function: Function, over: Any, *first: Any) -> Any:
        found = steps(over)
        if found is None:
            return functools.reduce(function, over, *first)
        (last,) = self._folded(function, found, first[0] if first else UNDEFINED)
        return last

    def _accumulate(
        self, over: Any, func: Function | None = None, *, initial: Any = UNDEFINED
    ) -> Any:
        found, function = steps(over), func or operator.add
        if found is None:
            given = {} if initial is UNDEFINED else {"initial": initial}
            return itertools.accumulate(over, function, **given)
        _, rows = self._folded(function, found, initial, [])
        return rows

    def _folded(self, function: Function, found: Steps, start: Any, *rows: list[Any]) -> Any:
        """What is left in the end and, where there is a list for it, all that was on the way."""
        if start is UNDEFINED:
            if not isinstance(found.count, int):
                torch._check(found.count > 0)  # type: ignore[no-untyped-call]  # or Python raises
            start, rest = found.item(0), Steps(found.count - 1, lambda at: found.item(at + 1))
        else:
            rest = found
        held = [start, *rows]
        for row in rows:
            row.append(start)

        def body(item: Any) -> None:
            held[0] = function(held[0], item)
            for row in held[1:]:
                row.append(held[0])

        def put(values: Sequence[Any]) -> None:
            held[:] = values

        self._flow.through(rest, body, None, Variables(lambda: tuple(held), put))
        return held


def _pairwise(over: Any) -> Any:
    found = steps(over)
    if found is None:
        return itertools.pairwise(over)
    count = _sym.sym_max(found.count - 1, 0)
    return Steps(count, lambda at: (found.item(at), found.item(at + 1)))


def _product(*many: Any, repeat: int = 1) -> Any:
    if all(steps(one) is None for one in many):
        return itertools.product(*many, repeat=repeat)
    found = [_known(one) for one in many] * repeat

    def item(place: Any) -> tuple[Any, ...]:
        items = []
        for one in reversed(found):
            items.append(one.item(place % one.count))
            place = place // one.count
        return tuple(reversed(items))

    return Steps(math.prod(one.count for one in found), item)


def _combinations(over: Any, size: int) -> Any:
    found = steps(over)
    if found is None:
        return itertools.combinations(over, size)
    if size != 2:
        raise UnwritableError("combinations of more than two are taken of a sequence")
    pairs = torch.ones([found.count, found.count]).triu(1).nonzero()

    def item(place: Any) -> tuple[Any, Any]:
        one, other = (pairs[place, column].item() for column in range(2))
        return found.item(one), found.item(other)

    return Steps(pairs.shape[0], item)


def _known(over: Any) -> Steps:
    found = steps(over)
    found = listed(over) if found is None else found
    if found is None:
        raise UnwritableError("a list is read at a place that only the data know")
    return found
