"""`and` and `or`: what follows is only worked out where it is asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import torch

from onnxpert.capture.written.functions import flag

if TYPE_CHECKING:
    from onnxpert.capture.written.flow import Flow

Function: TypeAlias = Callable[..., Any]
# A value to be worked out; or whether an `and`, and what stands in it.
Part: TypeAlias = Any


def truth_in_turn(flow: Flow, parts: Sequence[Function], goes_on: bool) -> Any:
    """Whether all of them hold, or any: where nobody asks for more than that."""
    value = parts[0]()
    for place, part in enumerate(parts[1:], 1):
        truth = flow.truth(value)
        if isinstance(truth, bool):
            if truth != goes_on:
                return value
            value = part()
            continue
        rest = parts[place:]

        def asked(rest: Sequence[Function] = rest) -> Any:
            return flag(flow.truth(truth_in_turn(flow, rest, goes_on)))

        def settled() -> Any:
            return not goes_on

        sides = (asked, settled) if goes_on else (settled, asked)
        found = flow.aside(truth, *sides)
        flow.recorder.absences.follows(found, goes_on, truth, goes_on)
        return found
    return value


def last_in_turn(flow: Flow, part: Part) -> Any:
    """The one that was looked at last: `x.any() and 2 or 3` is a number."""
    return _looked_at(flow, part, flag, flag)


def _looked_at(flow: Flow, part: Part, holds: Function, fails: Function) -> Any:
    """What is done with the value of a part, by its truth."""
    if isinstance(part, tuple):
        goes_on, first, *rest = part
        if not rest:
            return _looked_at(flow, first, holds, fails)

        def following(_: Any) -> Any:
            return _looked_at(flow, (goes_on, *rest), holds, fails)

        ways = (following, fails) if goes_on else (holds, following)
        return _looked_at(flow, first, *ways)
    value = part()
    if holds is fails:
        return holds(value)
    truth = flow.truth(value)
    if isinstance(truth, bool):
        return (holds if truth else fails)(value)
    # A comparison is Python's own True or False, which is known on either side.
    yes, no = (True, False) if isinstance(value, torch.SymBool) else (value, value)
    found = flow.aside(truth, lambda: holds(yes), lambda: fails(no))
    # Where one way ends with this part, what is found is no other truth than the part's there.
    for answer, end in ((True, fails), (False, holds)):
        if end is flag and isinstance(found, torch.Tensor) and found.dtype is torch.bool:
            flow.recorder.absences.follows(found, answer, truth, answer)
    return found
