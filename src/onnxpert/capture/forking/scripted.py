"""Where a TorchScript graph that is being read stands: its live values, and the loop around it.

The reader is Python, but what the rest of the run depends on are the graph's values, not Python's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any

from onnxpert.capture.scripting.torchscript import Reading

_READER = Reading.node.__code__
_ENDLESS = 2**63 - 1  # the turns that TorchScript gives a `while`
_KEPT = 8


def is_reading(frame: FrameType) -> bool:
    return frame.f_code is _READER


@dataclass(frozen=True, slots=True)
class _Loop:
    """The nodes of a loop's body, by number; and the value that counts its turns."""

    start: int
    end: int
    is_for: bool
    turn: int


@dataclass(frozen=True, slots=True)
class Standing:
    """A graph and the node that it has come to."""

    reading: Reading
    number: int
    text: str

    @property
    def place(self) -> tuple[str, int, str]:
        return ("script", self.number, self.text)

    @property
    def in_while(self) -> bool | None:
        """Whether the nearest loop around is one that only its condition ends; None without one."""
        around = self._around()
        return None if not around else not around[-1].is_for

    def live(self) -> Iterator[tuple[int, Any]]:
        """The values that may be read after the node, by number."""
        order = _order(self.reading.graph)
        around = self._around()
        turns = {loop.turn for loop in around if loop.is_for}
        # What comes from before a loop does not change in it, and is read again in the next turn.
        start = around[0].start if around else self.number
        for value, known in sorted(self.reading.values.items()):
            made, users = order.made[value], order.users.get(value, ())
            if made >= self.number:  # of an earlier turn
                continue
            again = made < start and any(user > start for user in users)
            if value in turns or again or any(user > self.number for user in users):
                yield value, known

    def _around(self) -> list[_Loop]:
        loops = _order(self.reading.graph).loops
        return [loop for loop in loops if loop.start < self.number < loop.end]


def standing(frame: FrameType) -> Standing:
    """Where the graph of a frame for which `is_reading` holds is."""
    reading, node = frame.f_locals["self"], frame.f_locals["node"]
    number = next(n for n, one in enumerate(_order(reading.graph).nodes) if one is node)
    return Standing(reading, number, node.sourceRange())


class _Order:
    """The nodes of a graph in the order in which they are written, those within others too."""

    def __init__(self, graph: Any) -> None:
        self.nodes: list[Any] = []
        self.users: dict[int, list[int]] = {}
        self.made: dict[int, int] = {}
        self.loops: list[_Loop] = []  # the outermost first
        self._block(graph)

    def _block(self, block: Any) -> None:
        for value in block.inputs():
            self.made[value.unique()] = len(self.nodes) - 1
        for node in block.nodes():
            self._node(node)
        for value in block.outputs():
            self.users.setdefault(value.unique(), []).append(len(self.nodes))
        self.nodes.append(None)  # the end of the block, which reads its outputs

    def _node(self, node: Any) -> None:
        number = len(self.nodes)
        self.nodes.append(node)
        for value in node.inputs():
            self.users.setdefault(value.unique(), []).append(number)
        at = len(self.loops)
        for block in node.blocks():
            self._block(block)
        for value in node.outputs():
            self.made[value.unique()] = len(self.nodes) - 1
        if node.kind() == "prim::Loop":
            turns = next(iter(node.inputs())).toIValue()
            (body,) = node.blocks()
            turn = next(iter(body.inputs())).unique()
            loop = _Loop(number, len(self.nodes), turns != _ENDLESS, turn)
            self.loops.insert(at, loop)


@lru_cache(_KEPT)
def _order(graph: Any) -> _Order:
    return _Order(graph)
