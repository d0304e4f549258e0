"""The explored paths of a model as one graph: branches as `torch.cond`, loops as `while_loop`.

Every value gets a fake tensor of one new mode: what held on one path only is not known there."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.symbolic_shapes import ShapeEnv
from torch.utils._sympy.symbol import SymT, symbol_is_type

from onnxpert.capture.forking.paths import Fork, Item, Loop, Use, changed, made, read
from onnxpert.capture.forking.questions import Question
from onnxpert.capture.forking.traces import Expr, Look, Number, Step, mapped, steps_in
from onnxpert.capture.holder import Recorded
from onnxpert.capture.reasoning import example_sizes
from onnxpert.core.types import GraphInput

_COND = torch.ops.higher_order.cond
_WHILE = torch.ops.higher_order.while_loop
_CLONE = torch.ops.aten.clone.default
_COPY = torch.ops.aten.copy_.default
_BY_STRIDES = frozenset(
    {
        torch.ops.aten.as_strided.default,
        torch.ops.aten.as_strided_copy.default,
        torch.ops.aten.as_strided_scatter.default,
    }
)


class Values:
    """Sizes and tensors as torch's own, all of one mode."""

    def __init__(self, mode: FakeTensorMode) -> None:
        assert mode.shape_env is not None
        self.mode = mode
        self.environment: ShapeEnv = mode.shape_env
        self._inputs = set(self.environment.var_to_range)

    def fresh(self, symbol: Expr) -> Expr:
        """A symbol of this mode for one of a run's; its own stay what they are."""
        if symbol in self._inputs:
            return symbol
        is_float = symbol_is_type(symbol, SymT.UNBACKED_FLOAT) or symbol.is_integer is not True
        if is_float:
            made: Any = self.environment.create_unbacked_symfloat()
        else:
            made = self.environment.create_unbacked_symint()
            torch.fx.experimental.symbolic_shapes._constrain_range_for_size(made)
        self.environment.pending_fresh_unbacked_symbols.clear()
        return made.node.expr

    def number(self, kind: type, expr: Expr) -> Any:
        if not expr.free_symbols:
            plain: dict[type, type] = {torch.SymFloat: float, torch.SymBool: bool}
            return plain.get(kind, int)(expr)
        if kind is torch.SymInt:
            known = expr.xreplace(example_sizes(self.environment))
            # A size of a side that others take may be negative at the example's.
            hint = 0 if known.is_negative else None
            return self.environment.create_symintnode(expr, hint=hint)
        if kind is torch.SymFloat:
            return self.environment.create_symfloatnode(expr, hint=None)
        return self.environment.create_symboolnode(expr)

    def tensor(self, look: Look) -> torch.Tensor:
        sizes, strides = (
            [self.number(torch.SymInt, one) for one in many] for many in (look.sizes, look.strides)
        )
        # That none of the sizes is negative was seen in a run; on the sides that others take, it may be.
        with self.mode, self.environment.suppress_guards():
            if strides:
                return torch.empty_strided(sizes, strides, dtype=look.dtype)
            return torch.empty(sizes, dtype=look.dtype)


class Scope:
    """One graph being written: the whole one, or a side of a branch."""

    def __init__(self, loom: Loom, graph: fx.Graph, outer: Scope | None) -> None:
        self.loom = loom
        self.graph = graph
        self.root = Recorded(graph)
        # Of what is cut at once on both sides of a branch, the pieces.
        self.nodes: dict[Step, Any] = {}
        self.sources: dict[Expr, fx.Node] = {}  # a symbol of the data's -> the call that made it
        self._remade: set[Step] = set()  # views of a copy
        self.symbols: dict[Expr, Expr] = {} if outer is None else dict(outer.symbols)

    # ---- values ----------------------------------------------------------------------------

    def expr(self, expr: Expr) -> Expr:
        for symbol in sorted(expr.free_symbols - self.symbols.keys(), key=str):
            self.symbols[symbol] = self.loom.values.fresh(symbol)
        return expr.xreplace(self.symbols)

    def example(self, out: Any) -> Any:
        """What torch would say that a result is."""
        values = self.loom.values
        if isinstance(out, Look):
            sizes = tuple(self.expr(size) for size in out.sizes)
            return values.tensor(Look(out.dtype, sizes, ()))
        if isinstance(out, Number):
            return values.number(out.kind, self.expr(out.expr))
        return tuple(map(self.example, out)) if isinstance(out, tuple) else out

    def value(self, value: Any) -> Any:
        if isinstance(value, Step):
            return self.node(value)
        if isinstance(value, Number):
            return self.loom.values.number(value.kind, self.expr(value.expr))
        return value

    def node(self, step: Step) -> Any:
        if step not in self.nodes and step.entry is not None:
            self.nodes[step] = self.loom.input(step)
        return self.nodes[step]

    # ---- items -----------------------------------------------------------------------------

    def write(self, items: Iterable[Item]) -> None:
        for item in items:
            if isinstance(item, Fork):
                self._fork(item)
            elif isinstance(item, Loop):
                self._loop(item)
            else:
                self._use(item)

    def _use(self, use: Use) -> None:
        if use.step.target is operator.getitem and isinstance(self.value(use.args[0]), tuple):
            self.nodes[use.step] = self.value(use.args[0])[use.args[1]]
            return
        kwargs = {key: mapped(value, self.value) for key, value in use.kwargs.items()}
        args = mapped(use.args, self.value)
        if use.step.target in _BY_STRIDES:
            self._lay_out(use.args[0])
        name = use.step.name or None
        node = self.graph.create_node("call_function", use.step.target, args, kwargs, name=name)
        node.meta.update(use.step.meta)
        before = set(self.symbols)
        node.meta["val"] = self.example(use.out)
        for symbol in self.symbols.keys() - before:
            self.sources[self.symbols[symbol]] = node
        self.nodes[use.step] = node

    def _lay_out(self, base: Any) -> None:
        """Elements are named by where they lie: the tensor has to lie as it did in the run."""
        look = base.out if isinstance(base, Step) else None
        if isinstance(look, Look):
            sizes, strides = (tuple(map(self.expr, many)) for many in (look.sizes, look.strides))
            example = self.loom.values.tensor(Look(look.dtype, sizes, strides))
            self.node(base).meta["val"] = example

    def _fork(self, fork: Fork) -> None:
        number = next(self.loom.branches)
        condition = self.expr(fork.condition)
        written = changed((*fork.yes, *fork.no), set())
        ends = [(join.yes, join.no) for join in fork.joins]
        outside = _outside((*fork.yes, *fork.no), ends, written, set())
        handed = self._handed(outside)
        sides = [
            self._side(items, outside, written, [getattr(join, name) for join in fork.joins])
            for name, items in (("yes", fork.yes), ("no", fork.no))
        ]
        outs = [*_flat(join.out for join in fork.joins), *(step.out for step in written)]
        # The sides have no use for where the condition comes from, but whoever reads the graph has.
        sources = [
            self.sources[s] for s in sorted(condition.free_symbols & self.sources.keys(), key=str)
        ]
        for side in sides:
            _pad(side, sources)
        given = (*_flat(handed), *sources)
        found = self._call(
            fork.question,
            _COND,
            (self.loom.values.number(torch.SymBool, condition), *map(self._attach, sides), given),
            outs,
            branch=number,
        )
        pieces = iter(found)
        for join in fork.joins:
            many = isinstance(join.out, tuple)
            piece = tuple(next(pieces) for _ in join.out) if many else next(pieces)
            if isinstance(join.key, Step):
                self.nodes[join.key] = piece
        for step, piece in zip(written, pieces, strict=True):
            copy = self.graph.call_function(_COPY, (self.node(step), piece))
            copy.meta.update(piece.meta, val=self.example(step.out))

    def _loop(self, loop: Loop) -> None:
        own = {carry.inside for carry in loop.carried}
        outside = _outside(loop.body, [carry.next for carry in loop.carried], (), own)
        handed = self._handed(outside)
        start = self.loom.values.number(torch.SymBool, self.expr(loop.start))
        body = Scope(self.loom, fx.Graph(), self)
        test = Scope(self.loom, fx.Graph(), self)
        for scope in (body, test):
            go = scope.graph.placeholder("go")
            go.meta["val"] = self.loom.values.tensor(Look(torch.bool, (), ()))
            for carry in loop.carried:
                scope.place(carry.inside, self.example(carry.out))
            for step in outside:
                scope.place(step, _seen(self.node(step)))
            if scope is test:
                scope.graph.output((go,))
        body.write(loop.body)
        again = body.value(Number(torch.SymBool, loop.again))
        body.graph.output((again, *(body.value(carry.next) for carry in loop.carried)))
        pieces = self._call(
            loop.question,
            _WHILE,
            (
                self._attach(test.root),
                self._attach(body.root),
                (start, *(self.value(carry.first) for carry in loop.carried)),
                tuple(_flat(handed)),
            ),
            [Look(torch.bool, (), ()), *(carry.out for carry in loop.carried)],
            loop=True,
        )
        for carry, piece in zip(loop.carried, pieces[1:], strict=True):
            self.nodes[carry.key] = piece

    def place(self, step: Step, example: Any) -> None:
        many = isinstance(example, tuple)
        nodes: list[fx.Node] = []
        for value in example if many else (example,):
            number = f"_{len(nodes)}" if nodes else ""
            nodes.append(self.graph.placeholder(f"outer_{len(self.nodes)}{number}"))
            nodes[-1].meta["val"] = value
        self.nodes[step] = tuple(nodes) if many else nodes[0]

    def _call(
        self, question: Question, target: Any, args: Any, outs: Sequence[Any], **notes: Any
    ) -> list[fx.Node]:
        """A call of an operator that holds graphs, and its results one by one."""
        meta = {"frames": question.frames, "module": question.module, **notes}
        node = self.graph.create_node("call_function", target, args)
        node.meta.update(meta, val=tuple(map(self.example, outs)))
        pieces = []
        for index, value in enumerate(node.meta["val"]):
            pieces.append(self.graph.call_function(operator.getitem, (node, index)))
            pieces[-1].meta.update(meta, val=value)
        return pieces

    def _attach(self, side: Recorded) -> fx.Node:
        name = f"side_{next(self.loom.count)}"
        setattr(self.root, name, side)
        return self.graph.get_attr(name)

    def _side(
        self,
        items: Sequence[Item],
        outside: Sequence[Step],
        written: Sequence[Step],
        wanted: Sequence[Any],
    ) -> Recorded:
        scope = Scope(self.loom, fx.Graph(), self)
        for step in outside:
            scope.place(step, _seen(self.node(step)))
        for step in written:  # the side works on a copy, which is copied back after the branch
            place = scope.nodes[step]
            copy = scope.graph.call_function(_CLONE, (place,))
            copy.meta["val"] = scope.example(step.out)
            scope.nodes[step] = copy
        scope._views(outside, written)
        scope.write(items)
        results = [*wanted, *written]
        scope.graph.output(tuple(_flat(map(scope._given_back, results))))
        return scope.root

    def _given_back(self, result: Any) -> Any:
        """What a side gives; of a call that cuts, the pieces."""
        return self._in_pieces(mapped(result, self.value))

    def _in_pieces(self, found: Any) -> Any:
        """A value; of a call that cuts, what it cuts."""
        value = found.meta["val"] if isinstance(found, fx.Node) else None
        if not isinstance(value, tuple):
            return found
        pieces = []
        for index, piece in enumerate(value):
            pieces.append(self.graph.call_function(operator.getitem, (found, index)))
            pieces[-1].meta.update(found.meta, val=piece)
        return tuple(pieces)

    def _handed(self, outside: Sequence[Step]) -> list[Any]:
        """What a side or a turn is given."""
        for step in outside:
            self.nodes[step] = self._in_pieces(self.node(step))
        return [self.nodes[step] for step in outside]

    def _views(self, outside: Sequence[Step], written: Sequence[Step]) -> None:
        """Views that were made before the branch, of what is a copy in it: made again."""
        bases = set(written)
        for step in outside:
            if step.base in bases and step not in bases:
                self._view(step)

    def _view(self, step: Step) -> None:
        if step in self._remade:
            return
        self._remade.add(step)
        for given in step.given():
            if given.base is step.base and given is not step.base:
                self._view(given)
        if _is_in_place(step.target) and isinstance(step.args[0], Step):
            # It has been written: what it gives is what it was given.
            self.nodes[step] = self.node(step.args[0])
        else:
            self._use(Use(step, step.args, step.kwargs, step.out))


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        yield from value if isinstance(value, tuple) else (value,)


def _seen(given: Any) -> Any:
    """What torch would say that a value is, or each of its pieces."""
    if isinstance(given, tuple):
        return tuple(piece.meta["val"] for piece in given)
    return given.meta["val"]


def _is_in_place(target: Any) -> bool:
    """Whether a call writes to what it is given first, and gives that."""
    if not isinstance(target, OpOverload) or not target._schema.arguments:
        return False
    alias = target._schema.arguments[0].alias_info
    return alias is not None and alias.is_write


def _pad(side: Recorded, sources: Sequence[fx.Node]) -> None:
    """Further placeholders, behind the others."""
    last = [node for node in side.graph.nodes if node.op == "placeholder"][-1:]
    for number, source in enumerate(sources):
        with side.graph.inserting_after(last[0]) if last else side.graph.inserting_before():
            last = [side.graph.placeholder(f"condition_{number}")]
        last[0].meta["val"] = source.meta["val"]


class Loom:
    """The whole graph."""

    def __init__(self, mode: FakeTensorMode, scope: type[Scope] = Scope) -> None:
        self.values = Values(mode)
        self.count: Iterator[int] = iter(range(10**9))
        self.branches: Iterator[int] = iter(range(10**9))
        self.inputs: list[GraphInput] = []
        self.top = scope(self, fx.Graph(), None)
        self._last: fx.Node | None = None

    def input(self, step: Step, example: Any = None) -> fx.Node:
        """A placeholder; they stand together at the top."""
        assert step.entry is not None
        name = step.entry.name.replace(".", "_")
        graph = self.top.graph
        if self._last is None:
            node = graph.placeholder(name)
        else:
            with graph.inserting_after(self._last):
                node = graph.placeholder(name)
        self._last = node
        node.meta["val"] = self.top.example(step.out) if example is None else example
        self.inputs.append(step.entry)
        self.top.nodes[step] = node
        return node


def _outside(
    items: Sequence[Item], ends: Any, changed: Sequence[Step], own: set[Step]
) -> list[Step]:
    """What is read that was made before."""
    found: dict[Step, None] = dict.fromkeys((*changed, *read(items), *steps_in(ends)))
    bases = set(changed)
    for view in list(found):  # it is made again from what it is a view of
        step = view
        while step not in bases and step.base in bases:
            found.update(dict.fromkeys(step.given()))
            step = next(given for given in step.given() if given.base is step.base)
    inside = made(items) | own
    # Pieces that were cut at once are no value that can be handed in, nor need they be.
    cut = {step for step in found if isinstance(step.out, (list, tuple)) and step.base in bases}
    return [step for step in found if step not in inside | cut]
