"""Which sides of a model's branches an input takes, and inputs that take those no other did.

The captured graph is run on real values: its conditions are those of the file."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import fx

from onnxpert.core.types import Branch, BranchTaken, Captured, InputKind
from onnxpert.verify.cases import turned
from onnxpert.verify.inputs import Case, Inputs
from onnxpert.verify.patience import Patience

Taken: TypeAlias = set[tuple[int, bool]]  # number of the branch, and which side
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_COND = torch.ops.higher_order.cond
_WHILE = torch.ops.higher_order.while_loop
_MOST_TURNS = 10_000
_SECONDS = 5.0


def has_branches(captured: Captured | None) -> bool:
    """Whether Python's own branches or loops are in it, those that a user wrote as such apart."""
    return captured is not None and any(
        "branch" in node.meta or "loop" in node.meta for node in captured.root.graph.nodes
    )


class Sides:
    """What a proof has seen of the branches so far."""

    def __init__(self, captured: Captured) -> None:
        self._captured = captured
        self.seen: Taken = set()

    def note(self, leaves: Mapping[str, Any]) -> bool:
        """Whether these inputs take a side that none before did."""
        new = self._taken(leaves) - self.seen
        self.seen |= new
        return bool(new)

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


def further(inputs: Inputs, sides: Sides, seed: int) -> Iterator[Case]:
    """Cases that take a side no other took, as long as there is one."""
    for case in turned(inputs):
        if sides.all_taken():
            return
        values = inputs.build(case, seed)
        names = [leaf.name for leaf in inputs.loaded.leaves]
        if sides.note(dict(zip(names, values, strict=True))):
            yield case


def _real(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, torch.Tensor) else value


class _Walk:
    """One run of a captured graph on real values."""

    def __init__(self) -> None:
        self.taken: Taken = set()
        self._sizes: dict[Any, Any] = {}  # symbol -> its value

    def run(self, root: Any, given: Iterable[Any]) -> Sequence[Any]:
        values: dict[fx.Node, Any] = {}
        inputs = iter(given)
        for node in root.graph.nodes:
            if node.op == "output":
                return self._concrete(fx.map_arg(node.args[0], values.__getitem__))  # type: ignore[no-any-return]
            if node.op == "placeholder":
                values[node] = next(inputs)
            elif node.op == "get_attr":
                values[node] = getattr(root, str(node.target))
            else:
                args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
                values[node] = self._call(node, self._concrete(args), self._concrete(kwargs))
            self._learn(node.meta.get("val"), values[node])
        return ()

    def _call(self, node: fx.Node, args: Any, kwargs: Any) -> Any:
        if node.target is _COND:
            condition, yes, no, operands = args
            side = bool(condition)
            if "branch" in node.meta:
                self.taken.add((node.meta["branch"], side))
            return self.run(yes if side else no, operands)
        if node.target is _WHILE:
            test, body, carried, others = args
            for _ in range(_MOST_TURNS):
                if not self.run(test, (*carried, *others))[0]:
                    break
                carried = self.run(body, (*carried, *others))
            return carried
        if node.target is operator.getitem:
            return args[0][args[1]]
        return node.target(*args, **kwargs)  # type: ignore[operator]

    def _learn(self, example: Any, value: Any) -> None:
        """Symbols get the value they have at this input; in a loop, in this turn."""
        if isinstance(example, torch.Tensor) and isinstance(value, torch.Tensor):
            for size, known in zip(example.shape, value.shape, strict=False):
                self._learn(size, known)
        elif isinstance(example, _SYMBOLS):
            expr = example.node.expr
            if expr.is_Symbol:
                self._sizes[expr] = value
            elif expr.is_Relational and expr.lhs.is_Symbol:  # a truth value, compared with 1
                self._sizes[expr.lhs] = int(value)
        elif isinstance(example, (list, tuple)) and isinstance(value, (list, tuple)):
            for each, known in zip(example, value, strict=False):
                self._learn(each, known)

    def _concrete(self, value: Any) -> Any:
        if isinstance(value, _SYMBOLS):
            found = value.node.expr.xreplace(self._known())
            if isinstance(value, torch.SymBool):
                return bool(found)
            return int(found) if isinstance(value, torch.SymInt) else float(found)
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)(self._concrete(item) for item in value)
        if isinstance(value, dict):
            return {key: self._concrete(item) for key, item in value.items()}
        return value

    def _known(self) -> dict[Any, Any]:
        import sympy

        return {symbol: sympy.sympify(value) for symbol, value in self._sizes.items()}
