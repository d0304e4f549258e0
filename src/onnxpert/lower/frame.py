"""One graph being walked: what its nodes stand for, across the writes that happen in it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import onnx_ir as ir
import torch
from torch import fx
from torch._ops import OpOverload

from onnxpert.core.bodies import python_body
from onnxpert.core.looks import is_reshaping_write, is_write
from onnxpert.lower.aliases import Aliases
from onnxpert.lower.complex_pairs import constant, converted, involved
from onnxpert.lower.emitter import Refusal
from onnxpert.lower.inplace import functional
from onnxpert.lower.shapes import equal
from onnxpert.lower.storages import (
    attribute,
    has_new_results,
    has_writes,
    region,
    storages,
    written_nodes,
)
from onnxpert.lower.symbols import expression
from onnxpert.lower.undoing import Write, undo, view_target

if TYPE_CHECKING:
    from onnxpert.lower.walk import Walk

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class Frame:
    """The nodes of a graph lowered in order. Without writes, a node is simply its value."""

    def __init__(self, walk: Walk, root: Any, mode: Any) -> None:
        self.walk = walk
        self.root = root
        self.plain: dict[fx.Node, Any] = {}
        self.inputs: list[fx.Node] = []
        self.regions: dict[fx.Node, Sequence[Any]] = {}  # a region's call -> its inner outputs
        self.aliases: Aliases | None = None
        if has_writes(root):
            self.aliases = Aliases(storages(root, mode), self._replay, self._scatter)

    def run(self, given: Sequence[Any]) -> list[Any]:
        inputs = iter(given)
        for node in self.root.graph.nodes:
            if node.op == "placeholder":
                self.inputs.append(node)
                self._define(node, next(inputs))
            elif node.op == "output":
                return [self._resolve(output) for output in _outputs(node)]
            else:
                self._step(node)
        return []

    def writes_inputs(self) -> bool:
        return self.aliases is not None and any(map(self.aliases.was_written, self.inputs))

    def _step(self, node: fx.Node) -> None:
        if node.op == "get_attr":
            self._define(node, self._attribute(node))
        elif node.op == "call_function":
            self._call(node)

    def _call(self, node: fx.Node) -> None:
        if isinstance(node.meta.get("val"), _SYMBOLIC) and not _reads_data(node):
            return  # sizes are computed from their expression, where they are needed
        if node.target is operator.getitem:
            self._piece(node)
            return
        self.walk.enter(node)
        try:
            if is_write(node.target):
                self._write(node)
                return
            inner = region(self.root, node) if self.aliases is not None else None
            if inner is not None:
                self._region(node, inner)
                return
            result = self._lowered(node)
        except Refusal as refusal:
            result = self.walk.missing(node, refusal)
        self._define(node, self.walk.finish(node, result))
        if _reads_data(node):
            self._bind_scalar(node, result)

    def _piece(self, node: fx.Node) -> None:
        source, index = node.args
        assert isinstance(source, fx.Node)
        if self.aliases is not None and isinstance(index, int):
            same = self.regions.get(source, ())[index : index + 1]
            if is_write(source.target) and not has_new_results(source.target):
                same = written_nodes(source)[index : index + 1]
            if same and isinstance(same[0], fx.Node) and same[0] in self.aliases:
                self.aliases.alias(node, same[0])
                return
        self._define(node, self._resolve(source)[index])

    def _bind_scalar(self, node: fx.Node, result: Any) -> None:
        value = node.meta["val"]
        if isinstance(value, _SYMBOLIC) and isinstance(result, ir.Value):
            self.walk.op.bind_number(expression(value), result)

    def _lowered(self, node: fx.Node, swap: tuple[fx.Node, ir.Value] | None = None) -> Any:
        """The call of a node; with one of its arguments in another's place, if so asked."""
        args, kwargs = self._arguments(node, swap)
        self.walk.op.given = [_fake(argument) for argument in node.args]
        out = node.meta.get("val") if swap is None else None
        return self.walk.call(view_target(node), args, kwargs, out)

    # ---- writes ----------------------------------------------------------------------------

    def _write(self, node: fx.Node) -> None:
        assert self.aliases is not None
        if is_reshaping_write(node.target) and functional(node.target) is not None:
            self._define(node, self.walk.finish(node, self._lowered(node)))
            return
        targets = written_nodes(node)
        # The functional form of what gives new results gives what it would write behind them.
        new = len(node.target._schema.returns) if has_new_results(node.target) else 0  # type: ignore[union-attr]
        results = self._results(node, len(targets), new)
        for written, result in zip(targets, results[new:], strict=True):
            self.aliases.write(written, self._fitted(written, result))
        if new:
            one = isinstance(node.meta.get("val"), torch.Tensor)
            self._define(node, results[0] if one else tuple(results[:new]))
        elif isinstance(node.meta.get("val"), torch.Tensor):
            self.aliases.alias(node, targets[0])

    def _results(self, node: fx.Node, count: int, new: int) -> Sequence[ir.Value]:
        """What a writing call would write, behind what it gives beside that."""
        form = functional(node.target)
        args, kwargs = self._arguments(node)
        if form is None and not self.walk.has(node.target) and not python_body(node.target):
            raise Refusal("it writes its argument in place and has no functional form")
        places = frozenset[str]() if form is None else form.places
        kwargs = {key: value for key, value in kwargs.items() if key not in places}
        target = node.target if form is None else form.target
        self.walk.op.given = [_fake(argument) for argument in node.args]
        result = self.walk.call(target, args, kwargs, node.meta.get("val"))
        results = result if isinstance(result, (list, tuple)) else [result]
        if len(results) != new + count:
            raise Refusal("it writes in place and gives several results")
        if new:
            one = isinstance(node.meta.get("val"), torch.Tensor)
            given = self.walk.finish(node, results[0] if one else tuple(results[:new]))
            return [*([given] if one else given), *results[new:]]
        finished = self.walk.finish(node, result)
        return finished if isinstance(finished, (list, tuple)) else [finished]

    def _fitted(self, written: fx.Node, result: ir.Value) -> ir.Value:
        """In the dtype and shape of the tensor that takes it."""
        op, taker = self.walk.op, written.meta["val"]
        if involved((result, taker)):
            result = converted(op, result, taker.dtype)
        else:
            result = op.cast(result, taker.dtype)
        shape = result.meta.get("shape")
        if shape is not None and not equal(tuple(shape), tuple(taker.shape)):
            sizes = list(taker.shape)
            result = self.walk.call(torch.ops.aten.expand.default, [result, sizes], {}, taker)
        return result

    def _replay(self, view: fx.Node) -> ir.Value:
        """A view made again, on what its base has become."""
        assert self.aliases is not None
        if _is_same_tensor(view, self.regions):
            return self.aliases.read(self.aliases.parent(view))
        if view.target is operator.getitem:
            source, index = view.args
            assert isinstance(source, fx.Node)
            return self._lowered(source)[index]  # type: ignore[no-any-return]
        return self.walk.finish(view, self._lowered(view))  # type: ignore[no-any-return]

    def _scatter(self, view: fx.Node, base: ir.Value, value: ir.Value) -> ir.Value:
        if _is_same_tensor(view, self.regions):
            return value

        def call(target: Any, *args: Any, **kwargs: Any) -> Any:
            return self.walk.call(target, args, kwargs, None)

        assert self.aliases is not None
        parent = self.aliases.parent(view)

        def again(other: ir.Value) -> ir.Value:
            swap = (parent, other)
            if view.target is operator.getitem:
                source, index = view.args
                assert isinstance(source, fx.Node)
                return self._lowered(source, swap)[index]  # type: ignore[no-any-return]
            return self._lowered(view, swap)  # type: ignore[no-any-return]

        args, kwargs = self._arguments(view, (parent, base))
        return undo(Write(view, args[1:], kwargs, base, value, call, self.walk.op.shape, again))

    # ---- regions ---------------------------------------------------------------------------

    def _region(self, node: fx.Node, inner: Any) -> None:
        """A region's nodes as if they stood here, so that what it writes is seen from outside."""
        assert self.aliases is not None
        outer, self.root = self.root, inner
        given = iter(node.args[2:])
        for step in inner.graph.nodes:
            if step.op == "placeholder":
                value = next(given)
                if isinstance(value, fx.Node) and value in self.aliases:
                    self.aliases.alias(step, value)
                else:
                    self.plain[step] = self._resolve(value)
            elif step.op == "output":
                self.regions[node] = list(_outputs(step))
            else:
                self._step(step)
        self.root = outer
        self.plain[node] = [self._resolve(output) for output in self.regions[node]]

    # ---- values ----------------------------------------------------------------------------

    def _define(self, node: fx.Node, value: Any) -> None:
        if self.aliases is not None and isinstance(value, ir.Value):
            self.aliases.define(node, value)
        else:
            self.plain[node] = value

    def _resolve(self, value: Any) -> Any:
        if not isinstance(value, fx.Node):
            return mapped(value, self._symbol) if isinstance(value, (list, tuple)) else value
        if self.aliases is not None and value in self.aliases:
            return self.aliases.read(value)
        if value in self.plain:
            return self.plain[value]
        symbol = value.meta["val"]
        expr = expression(symbol)
        if isinstance(symbol, torch.SymInt) and expr.is_number:
            return int(expr)
        return symbol

    def _symbol(self, value: Any) -> Any:
        return self._resolve(value) if isinstance(value, fx.Node) else value

    def _arguments(
        self, node: fx.Node, swap: tuple[fx.Node, ir.Value] | None = None
    ) -> tuple[Any, Any]:
        def find(value: Any) -> Any:
            return swap[1] if swap is not None and value is swap[0] else self._symbol(value)

        args = mapped(tuple(node.args), find)
        return args, {key: mapped(value, find) for key, value in node.kwargs.items()}

    def _attribute(self, node: fx.Node) -> Any:
        value = attribute(self.root, str(node.target))
        return constant(self.walk.op, value) if isinstance(value, torch.Tensor) else value


def _outputs(node: fx.Node) -> Sequence[Any]:
    outputs = node.args[0]
    return outputs if isinstance(outputs, (list, tuple)) else [outputs]


def _is_same_tensor(view: fx.Node, regions: Any) -> bool:
    """What an in-place operator or a region gives back is the tensor it was given."""
    if view.op == "placeholder":
        return True
    if view.target is operator.getitem:
        source = view.args[0]
        return source in regions or _gives_what_it_writes(source.target)  # type: ignore[union-attr]
    return _gives_what_it_writes(view.target) and not is_reshaping_write(view.target)


def _gives_what_it_writes(target: Any) -> bool:
    return is_write(target) and not has_new_results(target)


def _fake(argument: Any) -> Any:
    return mapped(argument, lambda v: v.meta.get("val") if isinstance(v, fx.Node) else v)


def _reads_data(node: fx.Node) -> bool:
    return isinstance(node.target, OpOverload) and node.target.overloadpacket in (
        torch.ops.aten.item,
        torch.ops.aten._local_scalar_dense,
    )


def mapped(value: Any, change: Callable[[Any], Any]) -> Any:
    """Every leaf of nested lists, tuples, dicts and slices changed."""
    if isinstance(value, tuple):
        return tuple(mapped(item, change) for item in value)
    if isinstance(value, list):
        return [mapped(item, change) for item in value]
    if isinstance(value, dict):
        return {key: mapped(item, change) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(mapped(item, change) for item in (value.start, value.stop, value.step)))
    return change(value)
