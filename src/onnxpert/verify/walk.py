"""A captured graph run on real values: its symbols are what these make them."""

from __future__ import annotations

import operator
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy
import torch
from sympy.logic.boolalg import BooleanAtom
from torch import fx
from torch.utils._sympy.functions import ToFloat

from onnxpert.core.loops import counted_loop, stopped_loop

Expr: TypeAlias = Any  # sympy.Expr
_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_COND = torch.ops.higher_order.cond
_WHILE = torch.ops.higher_order.while_loop
_MOST_TURNS = 10_000


@dataclass(frozen=True, slots=True)
class Step:
    """A node of a graph, and what need not be found out again in each turn of a loop."""

    node: fx.Node
    sized: bool  # something that it is given is made of symbols
    tells: bool  # its result may tell what a symbol is
    done: tuple[fx.Node, ...]  # whose results nobody asks for after it


class Plans:
    """Of graphs that nobody changes: their steps, and what expressions came to at which sizes."""

    def __init__(self) -> None:
        self.steps: dict[fx.Graph, list[Step]] = {}
        self._symbols: dict[Expr, tuple[Expr, ...]] = {}
        self._found: dict[tuple[Expr, ...], Expr] = {}

    def value(self, expr: Expr, sizes: Mapping[Expr, Expr]) -> Expr:
        if expr.is_Symbol:
            return sizes.get(expr, expr)
        symbols = self._symbols.get(expr)
        if symbols is None:
            symbols = self._symbols[expr] = tuple(expr.free_symbols)
        key = (expr, *(sizes.get(symbol) for symbol in symbols))
        if key not in self._found:
            self._found[key] = expr.xreplace(sizes)
        return self._found[key]


class Walk:
    """One run; several of the same graphs may have their plans in common."""

    def __init__(self, plans: Plans | None = None) -> None:
        self._sizes: dict[Any, Any] = {}  # symbol -> its value
        self._plans = Plans() if plans is None else plans
        self.at: fx.Node | None = None  # the call that is being made

    def run(self, root: Any, given: Iterable[Any]) -> Sequence[Any]:
        steps = self.steps(root, given)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                return end.value  # type: ignore[no-any-return]

    def steps(
        self, root: Any, given: Iterable[Any]
    ) -> Generator[tuple[fx.Node, Any], None, Sequence[Any]]:
        """Each call of the graph with its result, as it is made; gives the outputs."""
        values: dict[fx.Node, Any] = {}
        inputs = iter(given)
        for step in self._steps(root.graph):
            node = step.node
            if node.op == "output":
                return self._concrete(fx.map_arg(node.args[0], values.__getitem__))  # type: ignore[no-any-return]
            if node.op == "placeholder":
                values[node] = next(inputs)
            elif node.op == "get_attr":
                values[node] = getattr(root, str(node.target))
            else:
                self.at = node
                args, kwargs = fx.map_arg((node.args, node.kwargs), values.__getitem__)
                if step.sized:
                    args, kwargs = self._concrete(args), self._concrete(kwargs)
                values[node] = self._call(node, args, kwargs)
            if step.tells:
                self._learn(node.meta.get("val"), values[node])
            if node.op == "call_function":
                yield node, values[node]
            for used in step.done:
                del values[used]
        return ()

    def _steps(self, graph: fx.Graph) -> list[Step]:
        if graph not in self._plans.steps:
            last = {used: node for node in graph.nodes for used in node.all_input_nodes}
            self._plans.steps[graph] = [
                Step(
                    node,
                    _has_symbols((node.args, node.kwargs)),
                    _has_symbols(node.meta.get("val")),
                    tuple(used for used in node.all_input_nodes if last[used] is node),
                )
                for node in graph.nodes
            ]
        return self._plans.steps[graph]

    def told_by_sizes(self, root: Any, given: Iterable[Any]) -> bool:
        """Whether sizes alone tell which sides are taken: then each is, and nothing is computed."""
        nodes = [node for node in root.graph.nodes if node.op == "placeholder"]
        for node, value in zip(nodes, given, strict=False):
            self._learn(node.meta.get("val"), value)
        try:
            self._look(root)
        except (TypeError, LookupError):  # of a number that is not known
            return False
        return True

    def _look(self, root: Any) -> None:
        for node in root.graph.nodes:
            if node.target in (_WHILE, counted_loop, stopped_loop):
                raise LookupError(node.name)
            if node.target is _COND:
                condition, *bodies = node.args[:3]
                side = self._concrete(
                    condition.meta["val"] if isinstance(condition, fx.Node) else condition
                )
                if not isinstance(side, bool):
                    raise LookupError(node.name)
                self.took(node, side)
                self._look(getattr(root, bodies[not side].target))

    def took(self, node: fx.Node, side: bool) -> None:
        """Which side of a branch this run takes."""

    def counted(self, symbol: Any, value: Any) -> None:
        """What a number is, or how many of something there are, at this input."""

    def _call(self, node: fx.Node, args: Any, kwargs: Any) -> Any:
        if node.target is _COND:
            condition, yes, no, operands = args
            side = bool(condition)
            self.took(node, side)
            return self.run(yes if side else no, operands)
        if node.target is _WHILE:
            test, body, carried, others = args
            for _ in range(_MOST_TURNS):
                if not self.run(test, (*carried, *others))[0]:
                    break
                carried = self.run(body, (*carried, *others))
            return carried
        if node.target in (counted_loop, stopped_loop):
            return self._gone_round(node, *args)
        if node.target is operator.getitem:
            return args[0][args[1]]
        return node.target(*args, **kwargs)  # type: ignore[operator]

    def _gone_round(self, node: fx.Node, body: Any, *rest: Any) -> list[Any]:
        loop: Any = node.target
        found: list[Any] = loop(lambda *given: self.run(body, given), *rest)
        # Without a single turn nothing was left behind to be stacked.
        unmade = node.meta["val"][len(found) :]
        return found + [
            torch.empty([0, *self._concrete(list(one.shape[1:]))], dtype=one.dtype)
            for one in unmade
        ]

    def _learn(self, example: Any, value: Any) -> None:
        """Symbols get the value they have at this input; in a loop, in this turn."""
        if isinstance(example, torch.Tensor) and isinstance(value, torch.Tensor):
            for size, known in zip(example.shape, value.shape, strict=False):
                self._learn(size, known)
        elif isinstance(example, _SYMBOLS):
            expr = example.node.expr
            if expr.is_Symbol:
                self._sizes[expr] = sympy.sympify(value)
                self.counted(expr, value)
            elif expr.is_Relational and expr.lhs.is_Symbol:  # a truth value, compared with 1
                self._sizes[expr.lhs] = sympy.Integer(int(value))
        elif isinstance(example, (list, tuple)) and isinstance(value, (list, tuple)):
            for each, known in zip(example, value, strict=False):
                self._learn(each, known)

    def _concrete(self, value: Any) -> Any:
        if isinstance(value, _SYMBOLS):
            found = self._plans.value(value.node.expr, self._sizes)
            if isinstance(value, torch.SymBool):
                return bool(found)
            return int(found) if isinstance(value, torch.SymInt) else float(_counted(found))
        if isinstance(value, (list, tuple)) and not isinstance(value, torch.Size):
            return type(value)(self._concrete(item) for item in value)
        if isinstance(value, dict):
            return {key: self._concrete(item) for key, item in value.items()}
        return value


def _has_symbols(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return any(isinstance(size, torch.SymInt) for size in value.shape)
    if isinstance(value, (list, tuple)):
        return any(map(_has_symbols, value))
    if isinstance(value, dict):
        return any(map(_has_symbols, value.values()))
    return isinstance(value, (*_SYMBOLS, slice))


def _counted(found: Any) -> Any:
    """`float(flag)`, of which sympy makes no number."""
    truths = {
        one: sympy.Integer(int(bool(one.args[0])))
        for one in found.atoms(ToFloat)
        if isinstance(one.args[0], BooleanAtom)
    }
    return found.xreplace(truths)
