"""In-place operators made functional: views of one storage see each other's writes.

Every captured tensor carries the storage torch gave it, so what aliases what is known, not guessed.
A write goes up the chain of views to the base (each view operator has a scatter that undoes it); the
other views of that storage are made again from the base when they are next read."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import torch
from torch import fx

from onnxpert.lower.emitter import Refusal

aten = torch.ops.aten


def storage_of(node: fx.Node) -> int | None:
    value = node.meta.get("val")
    return value.untyped_storage()._cdata if isinstance(value, torch.Tensor) else None


def has_writes(graph: fx.Graph) -> bool:
    return any(
        node.op == "call_function" and is_write(node.target) for node in graph.nodes
    )


def is_write(target: Any) -> bool:
    return isinstance(target, torch._ops.OpOverload) and target._schema.is_mutable


def written_argument(node: fx.Node) -> fx.Node:
    """The node whose tensor a mutable call writes."""
    schema = node.target._schema  # type: ignore[union-attr]
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = node.kwargs.get(argument.name) if index >= len(node.args) else node.args[index]
            if isinstance(given, fx.Node):
                return given
    raise Refusal(f"{node.target} writes an argument that is not a tensor")


class Aliases:
    """The current value of every captured tensor, kept true across writes."""

    def __init__(
        self,
        replay: Callable[[fx.Node, ir.Value], ir.Value],
        scatter: Callable[[fx.Node, ir.Value, ir.Value], ir.Value],
    ) -> None:
        self._replay = replay  # a view node, on a new base
        self._scatter = scatter  # (view node, base, new value of the view) -> new base
        self._values: dict[fx.Node, ir.Value] = {}
        self._stamps: dict[fx.Node, int] = {}
        self._versions: dict[int, int] = {}
        self._parents: dict[fx.Node, fx.Node] = {}

    def define(self, node: fx.Node, value: ir.Value) -> None:
        parent = view_parent(node)
        if parent is not None:
            self._parents[node] = parent
        self._set(node, value)

    def read(self, node: fx.Node) -> ir.Value:
        if self._stamps[node] == self._version(node):
            return self._values[node]
        parent = self._parents.get(node)
        if parent is None:
            return self._values[node]
        self._set(node, self._replay(node, self.read(parent)))
        return self._values[node]

    def write(self, node: fx.Node, value: ir.Value) -> None:
        chain = [node]
        while (parent := self._parents.get(chain[-1])) is not None:
            chain.append(parent)
        bases = [self.read(link) for link in chain]
        storage = storage_of(node)
        if storage is not None:
            self._versions[storage] = self._version(node) + 1
        self._set(node, value)
        for view, parent, base in zip(chain, chain[1:], bases[1:], strict=False):
            value = self._scatter(view, base, value)
            self._set(parent, value)

    def alias(self, node: fx.Node, of: fx.Node) -> None:
        """`node` is the same tensor as `of`: what an in-place operator returns."""
        self._parents[node] = of
        self._set(node, self.read(of))

    def __contains__(self, node: fx.Node) -> bool:
        return node in self._values

    def _set(self, node: fx.Node, value: ir.Value) -> None:
        self._values[node] = value
        self._stamps[node] = self._version(node)

    def _version(self, node: fx.Node) -> int:
        storage = storage_of(node)
        return 0 if storage is None else self._versions.get(storage, 0)


def view_parent(node: fx.Node) -> fx.Node | None:
    """The tensor that a node is a view of."""
    if node.op != "call_function":
        return None
    source = node
    if node.target is operator.getitem:
        source = node.args[0]  # type: ignore[assignment]
    own = storage_of(node)
    for given in source.args:
        if isinstance(given, fx.Node) and storage_of(given) == own and own is not None:
            return given
    return None


# ---- how each view operator is undone ------------------------------------------------------

_RESHAPES = {
    aten.view.default, aten.reshape.default, aten._unsafe_view.default, aten.unsqueeze.default,
    aten.squeeze.dim, aten.squeeze.default, aten.squeeze.dims, aten.flatten.using_ints,
    aten.unflatten.int, aten.view_as.default, aten.reshape_as.default,
}  # fmt: skip
_SAME = {
    aten.alias.default, aten.detach.default, aten.contiguous.default, aten.detach_.default,
    aten.to.dtype, aten.to.device, aten.to.dtype_layout, aten.expand_as.default, aten.lift_fresh.default,
    aten.positive.default, aten.resolve_conj.default, aten.resolve_neg.default,
}  # fmt: skip
_SCATTERS = {
    aten.slice.Tensor: aten.slice_scatter.default,
    aten.select.int: aten.select_scatter.default,
    aten.diagonal.default: aten.diagonal_scatter.default,
    aten.as_strided.default: aten.as_strided_scatter.default,
}


def undo(
    view: fx.Node,
    base: ir.Value,
    value: ir.Value,
    call: Callable[..., ir.Value],
    shape: Callable[[ir.Value], tuple[Any, ...]],
) -> ir.Value:
    """The base after `value` was written through `view`; `call` lowers one ATen call."""
    target, rest = view.target, view.args[1:]
    if is_write(target) or target in _SAME:
        return value
    if target in _RESHAPES:
        return call(aten.view.default, value, list(shape(base)))
    if target in _SCATTERS:
        return call(_SCATTERS[target], base, value, *rest, **view.kwargs)
    if target is aten.narrow.default:
        dim, start, length = rest
        return call(aten.slice_scatter.default, base, value, dim, start, start + length)
    if target is aten.permute.default:
        order = [axis % len(rest[0]) for axis in rest[0]]  # type: ignore[arg-type,union-attr]
        return call(aten.permute.default, value, [order.index(axis) for axis in range(len(order))])
    if target in {aten.transpose.int, aten.t.default, aten.numpy_T.default, aten.mT.default}:
        axes = rest if target is aten.transpose.int else (-2, -1)
        return value if len(shape(base)) < 2 else call(aten.transpose.int, value, *axes)
    if target is aten.expand.default and shape(base) == shape(value):
        return value
    if target is operator.getitem:
        return _undo_piece(view, base, value, call)
    raise Refusal(f"a write through {target} cannot be said in ONNX")


def _undo_piece(
    view: fx.Node, base: ir.Value, value: ir.Value, call: Callable[..., ir.Value]
) -> ir.Value:
    """One of several views (`split`, `chunk`, `unbind`): where the pieces before it end, it starts."""
    source, index = view.args
    assert isinstance(source, fx.Node)
    target = source.target
    rest = list(source.args[2:]) if target is not aten.unbind.int else list(source.args[1:])
    dim = source.kwargs.get("dim", rest[0] if rest else 0)
    if target is aten.unbind.int:
        return call(aten.select_scatter.default, base, value, dim, index)
    pieces = source.meta["val"]
    start = sum(piece.shape[dim] for piece in pieces[:index])
    end = start + pieces[index].shape[dim]
    return call(aten.slice_scatter.default, base, value, dim, start, end)
