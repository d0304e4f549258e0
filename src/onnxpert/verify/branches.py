"""Which sides of a model's branches an input takes, and inputs that take those no other did.

The captured graph is run on real values: its conditions are those of the file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import torch
from torch import fx

from onnxpert.core.calls import calls
from onnxpert.core.types import Branch, BranchTaken, Captured, InputKind
from onnxpert.verify.allowance import Allowance
from onnxpert.verify.cases import turned
from onnxpert.verify.inputs import Case, Inputs, Values
from onnxpert.verify.patience import Patience
from onnxpert.verify.walk import Walk

Taken: TypeAlias = set[tuple[int, bool]]  # number of the branch, and which side
_SECONDS = 5.0


def has_branches(captured: Captured | None) -> bool:
    """Whether Python's own branches or loops are in it, those that a user wrote as such apart."""
    return captured is not None and any(
        "branch" in node.meta or "loop" in node.meta for node in captured.root.graph.nodes
    )


_RECURRENT = frozenset({"aten.lstm", "aten.gru", "aten.rnn_tanh", "aten.rnn_relu"})


class Sides:
    """What a proof has seen of the branches so far."""

    def __init__(self, captured: Captured) -> None:
        self._captured = captured
        self.seen: Taken = set()
        self._elsewhere: Taken = set()  # at other sizes than the example's

    def note(self, leaves: Mapping[str, Any], *, resized: bool = False) -> bool:
        """Whether these inputs take a side that none before did."""
        taken = self._taken(leaves)
        new = taken - self.seen
        self.seen |= new
        if resized:
            self._elsewhere |= taken
        return bool(new)

    @property
    def recur(self) -> bool:
        """Whether there are recurrent layers, whose kernels make a number of a NaN: a side that such a
        number takes is nobody's fault."""
        names = {
            str(getattr(node.target, "overloadpacket", "")) for node in calls(self._captured.root)
        }
        return not names.isdisjoint(_RECURRENT)

    @property
    def all_elsewhere(self) -> bool:
        """Whether each side that was taken at the example's sizes was taken at others too."""
        return self.seen <= self._elsewhere

    def _taken(self, leaves: Mapping[str, Any]) -> Taken:
        walk = _Walk()
        given = [
            _real(leaves[entry.name]) if entry.kind is InputKind.USER else entry.tensor
            for entry in self._captured.inputs
        ]
        try:
            with torch.no_grad(), Patience(_SECONDS):
                walk.run(self._captured.root, given)
        except Exception:  # what was seen until then was seen
            return walk.taken
        return walk.taken

    def all_taken(self) -> bool:
        return len(self.seen) == 2 * len(self._captured.branches)

    def report(self) -> tuple[BranchTaken, ...]:
        """Each branch of the source once, wherever the graph has it."""
        found: dict[Any, tuple[Branch, set[bool]]] = {}
        for number, branch in enumerate(self._captured.branches):
            sides = {side for at, side in self.seen if at == number}
            found.setdefault(branch.location or number, (branch, set()))[1].update(sides)
        return tuple(BranchTaken(b, True in sides, False in sides) for b, sides in found.values())


def further(inputs: Inputs, sides: Sides, seed: int, allowance: Allowance) -> Iterator[Case]:
    """Cases that take a side no other took, as long as there is one, and time to look for it."""
    for case in turned(inputs):
        if sides.all_taken() or allowance.is_spent:
            return
        if case.values is Values.NAN and sides.recur:
            continue
        values = inputs.build(case, seed)
        names = [leaf.name for leaf in inputs.loaded.leaves]
        if sides.note(dict(zip(names, values, strict=True))):
            yield case


def _real(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


class _Walk(Walk):
    """One run that remembers the sides it takes."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: Taken = set()

    def took(self, node: fx.Node, side: bool) -> None:
        if "branch" in node.meta:
            self.taken.add((node.meta["branch"], side))
