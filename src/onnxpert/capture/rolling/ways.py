"""Ways through a model that no length takes which its loops were told by: `if t > 20` in a turn.

What a loop counts, and how long a list has become, are numbers of Python's own: nobody is asked when they
are compared. So the model itself runs with more and more turns. An instruction that runs at none of the
lengths told is on a way that no trace knows, and sizes that lead there are beyond what was told."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, TypeAlias

import sympy
import torch
from torch import fx
from torch.overrides import TorchFunctionMode

from onnxpert.capture.flat import Flat, fed_copies, owner
from onnxpert.capture.guards import Assumption
from onnxpert.capture.places import user_frames
from onnxpert.capture.state import untouched
from onnxpert.core.effort import Effort
from onnxpert.core.source import Frame, Owner, ownership
from onnxpert.core.types import Captured, Loaded

if TYPE_CHECKING:
    from onnxpert.capture.rolling import Varying

logger = logging.getLogger(__name__)
Lengths: TypeAlias = tuple[int, ...]
Resized: TypeAlias = Callable[[Lengths], Loaded]
_TIMES = 2.6
_LONGEST = 1024
# Of a longer run, which every machine counts alike: of Python, and of what torch computes.
_MOST_INSTRUCTIONS = 300_000
_MOST_EFFORT = 0.5
_SHORTEST = (1, 2)


class Ways:
    """The instructions of the user's and of libraries that ran, each with how it was come to."""

    def __init__(self, known: Ways | None = None) -> None:
        self.codes: dict[int, tuple[CodeType, set[int]]] = {} if known is None else known.codes
        self.other: tuple[Frame, ...] | None = None  # where one ran that is not among the known
        self.count = 0
        self._learns = known is None

    def entered(self, frame: FrameType, _: str, __: Any) -> Any:
        code = frame.f_code
        if ownership(code.co_filename) < Owner.LIBRARY:
            return None
        seen = self.codes.get(id(code))
        if seen is None:
            seen = (code, set[int]())
            if self._learns:
                self.codes[id(code)] = seen
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        instructions = seen[1]

        def ran(here: FrameType, event: str, _: Any) -> Any:
            if event == "opcode":
                self.count += 1
                if self._learns:
                    instructions.add(here.f_lasti)
                elif self.other is None and here.f_lasti not in instructions:
                    self.other = user_frames()
            return ran

        return ran


class _Counting(TorchFunctionMode):
    """Adds up what a run computes."""

    def __init__(self) -> None:
        super().__init__()
        self.effort = Effort()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        self.effort.note((args, tuple((kwargs or {}).values())), result)
        return result


class _Runs:
    """Runs of the model itself at other lengths, against those that were told."""

    def __init__(self, resized: Resized, told: Sequence[Lengths]) -> None:
        self._resized = resized
        self._told = Ways()
        self.is_long = False  # whether another one with many more turns would take long
        for at in told:
            if not self._run(at, self._told):
                raise ValueError("the model does not take the lengths that it was told by")

    def other(self, at: Lengths) -> tuple[Frame, ...] | None:
        """Where another way begins that it takes there; None also where it takes no such length."""
        ways = Ways(self._told)
        return ways.other if self._run(at, ways) else None

    def _run(self, at: Lengths, ways: Ways) -> bool:
        loaded = self._resized(at)
        values, before, counting = fed_copies(loaded), sys.gettrace(), _Counting()
        with (
            untouched(owner(loaded.module), buffers=True),
            torch.random.fork_rng(devices=[]),
            torch.no_grad(),
            counting,
        ):
            sys.settrace(ways.entered)
            try:
                Flat(loaded)(*values)
            except Exception:  # the model's own: it need not take every length
                logger.debug("no way at %s", at, exc_info=True)
                return False
            finally:
                sys.settrace(before)
        long = counting.effort.seconds > _MOST_EFFORT
        self.is_long |= ways.count > _MOST_INSTRUCTIONS or long
        return True


def told_ways(
    resized: Resized, sizes: Sequence[Varying], told: Sequence[Lengths], found: Captured
) -> Iterator[Assumption]:
    """For each size how far the model goes no other way than where it was told, and where one begins."""
    try:
        runs = _Runs(resized, told)
    except ValueError as error:
        logger.debug("ways are not known: %s", error)
        return
    base = told[0]
    for place, size in enumerate(sizes):
        expression = _expression(size, found)
        if expression is None:
            continue
        longest = max(at[place] for at in told)

        def other(length: int, place: int = place) -> tuple[Frame, ...] | None:
            return runs.other((*base[:place], length, *base[place + 1 :]))

        for at in _SHORTEST:
            if size.lower <= at < base[place] and (frames := other(at)):
                yield sympy.Gt(expression, size.size(size.axes[0][2], at)), frames
        reached = _reached(longest, size.upper, other, lambda: runs.is_long)
        if reached is not None:
            most, frames = reached
            yield sympy.Le(expression, size.size(size.axes[0][2], most)), frames


def _reached(
    longest: int,
    upper: int,
    other: Callable[[int], tuple[Frame, ...] | None],
    is_long: Callable[[], bool],
) -> tuple[int, tuple[Frame, ...]] | None:
    """The largest length without another way, if a longer one has one, and where that begins."""
    least, most, frames = longest, longest, None
    while frames is None:
        most = min(int(most * _TIMES) + 1, upper, _LONGEST)
        if most <= least or is_long():
            return None
        frames = other(most)
        least = least if frames else most
    while most - least > 1:
        middle = (least + most) // 2
        nearer = other(middle)
        least, most, frames = (least, middle, nearer) if nearer else (middle, most, frames)
    return least, frames


def _expression(size: Varying, found: Captured) -> Any | None:
    """What the first of its axes is as long as, in the graph."""
    name, axis, _ = size.axes[0]
    value = _values(found.root.graph, found).get(name)
    length = value if axis is None or value is None else value.shape[axis]
    return length.node.expr if isinstance(length, torch.SymInt) else None


def _values(graph: fx.Graph, found: Captured) -> Mapping[str, Any]:
    nodes = [node for node in graph.nodes if node.op == "placeholder"]
    return {entry.name: node.meta["val"] for entry, node in zip(found.inputs, nodes, strict=True)}
