"""In-place operators made functional: views of one storage see each other's writes.

Every captured tensor carries the storage torch gave it, so what aliases what is known, not guessed.
A write goes up the chain of views to the base (each view operator has a scatter that undoes it); the
other views of that storage are made again from the base when they are next read."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import onnx_ir as ir
from torch import fx

from onnxpert.core.looks import shows_all, step
from onnxpert.lower.emitter import Refusal


class Aliases:
    """The current value of every captured tensor, kept true across writes."""

    def __init__(
        self,
        storages: Mapping[fx.Node, int],
        replay: Callable[[fx.Node], ir.Value],
        scatter: Callable[[fx.Node, ir.Value, ir.Value], ir.Value],
    ) -> None:
        self._storages = storages
        self._replay = replay  # a view node, made again
        self._scatter = scatter  # (view node, base, new value of the view) -> new base
        self._values: dict[fx.Node, ir.Value] = {}
        self._stamps: dict[fx.Node, int] = {}
        self._versions: dict[int, int] = {}
        self._parents: dict[fx.Node, fx.Node] = {}
        self._roots: dict[int, fx.Node] = {}
        self._split: set[int] = (
            set()
        )  # storages that two tensors share, neither a view of the other
        self._last: dict[int, tuple[Any, ir.Value]] = {}  # the view last written, and what with

    def define(self, node: fx.Node, value: ir.Value) -> None:
        parent = self._view_parent(node)
        storage = self._storages.get(node)
        if parent is not None:
            self._parents[node] = parent
        elif storage is not None and self._roots.setdefault(storage, node) is not node:
            self._split.add(storage)
        self._set(node, value)

    def read(self, node: fx.Node) -> ir.Value:
        storage = self._storages.get(node)
        if storage is None or self._stamps[node] == self._versions.get(storage, 0):
            return self._values[node]
        if node in self._parents:
            last = self._last.get(storage)
            known = last is not None and last[0] == self._signature(node)
            self._set(node, last[1] if known and last is not None else self._replay(node))
        return self._values[node]

    def write(self, node: fx.Node, value: ir.Value) -> None:
        storage = self._storages.get(node)
        if storage is None:
            self._set(node, value)
            return
        if storage in self._split:
            raise Refusal("it writes memory that two tensors of the model share")
        signature = self._signature(node)
        last = self._last.get(storage)
        if last is not None and last[0] == signature and last[1] is value:
            self._set(node, value)  # `x[0] += 1` writes the result once more through a new view
            return
        chain = [node]
        while (parent := self._parents.get(chain[-1])) is not None:
            chain.append(parent)
        bases = [self.read(link) for link in chain]
        self._versions[storage] = self._versions.get(storage, 0) + 1
        self._last[storage] = (signature, value)
        self._set(node, value)
        for view, parent, base in zip(chain, chain[1:], bases[1:], strict=False):
            value = self._scatter(view, base, value)
            self._set(parent, value)

    def alias(self, node: fx.Node, of: fx.Node) -> None:
        """`node` is the same tensor as `of`: what an in-place operator returns."""
        self._parents[node] = of
        self._set(node, self.read(of))

    def parent(self, node: fx.Node) -> fx.Node:
        return self._parents[node]

    def was_written(self, node: fx.Node) -> bool:
        storage = self._storages.get(node)
        return storage is not None and self._versions.get(storage, 0) > 0

    def __contains__(self, node: fx.Node) -> bool:
        return node in self._values

    def _set(self, node: fx.Node, value: ir.Value) -> None:
        self._values[node] = value
        self._stamps[node] = self._versions.get(self._storages.get(node, -1), 0)

    def _view_parent(self, node: fx.Node) -> fx.Node | None:
        """The tensor that a node is a view of."""
        own = self._storages.get(node)
        if node.op != "call_function" or own is None:
            return None
        source = node.args[0] if node.target is operator.getitem else node
        assert isinstance(source, fx.Node)
        for given in source.all_input_nodes:
            if given is not source and self._storages.get(given) == own:
                return given
        return None

    def _signature(self, node: fx.Node) -> Any:
        """What a view shows of its base: equal for `x[:, 0]` written twice."""
        steps: list[Any] = []
        while (parent := self._parents.get(node)) is not None:
            call = node.args[0] if node.target is operator.getitem else node
            assert isinstance(call, fx.Node)
            if not shows_all(node):
                index = node.args[1] if call is not node else None
                steps.append((*step(call), index))
            node = parent
        return (node, *steps)
