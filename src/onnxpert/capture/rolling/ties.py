"""Sizes that a run took for a number, and which of them it found to be one and the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sympy
from torch import fx

from onnxpert.capture.flat import fed
from onnxpert.core.types import DimSpec, GraphInput, InputKind, InputLeaf, Loaded, replace


@dataclass(frozen=True, slots=True)
class Axis:
    """A dimension, or a number, that was to vary; those with the same root have one size."""

    leaf: InputLeaf
    axis: int | None  # None: the leaf is the number itself
    spec: DimSpec
    root: Any


def frozen_axes(loaded: Loaded, inputs: Sequence[GraphInput], graph: fx.Graph) -> list[Axis]:
    leaves = {leaf.name: leaf for leaf in fed(loaded)}
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    found = [
        (leaves[entry.name], axis, spec, size)
        for entry, node in zip(inputs, placeholders, strict=True)
        if entry.kind is InputKind.USER and entry.name in leaves
        for axis, spec, size in _varying(leaves[entry.name], node.meta["val"])
    ]
    # One name is one size, whether or not the run came to compare them.
    names = {spec.name for _, _, spec, size in found if _is_number(size)} - {""}
    found = [one for one in found if _is_number(one[3]) or one[2].name in names]
    roots = _roots([size for *_, size in found])
    return [
        Axis(leaf, axis, spec, spec.name or roots[_symbol(size)] or (leaf.name, axis))
        for leaf, axis, spec, size in found
    ]


def without(loaded: Loaded, axes: Sequence[Axis]) -> Loaded:
    """The same model with those dimensions as the example has them."""
    gone = {(one.leaf.name, one.axis) for one in axes}
    leaves = tuple(
        replace(leaf, dims=tuple(each for each in leaf.dims if (leaf.name, each[0]) not in gone))
        for leaf in loaded.leaves
    )
    return replace(loaded, leaves=leaves)  # type: ignore[no-any-return]


def _varying(leaf: InputLeaf, value: Any) -> Iterator[tuple[int | None, DimSpec, Any]]:
    if leaf.scalar is not None:
        yield None, leaf.scalar, value
    for axis, spec in leaf.dims:
        yield axis, spec, value.shape[axis]


def _is_number(size: Any) -> bool:
    return isinstance(size, int) or bool(size.node.expr.is_number)


def _symbol(size: Any) -> Any:
    """What the size was before it became a number."""
    return None if isinstance(size, int) else size.node._expr


def _roots(sizes: Sequence[Any]) -> dict[Any, Any]:
    """Each symbol -> the one that stands for all which the run set equal to it."""
    roots: dict[Any, Any] = {}

    def root(symbol: Any) -> Any:
        while roots.get(symbol, symbol) != symbol:
            symbol = roots[symbol]
        return symbol

    for one, other in _equal(sizes):
        roots[root(one)] = root(other)
    return {symbol: root(symbol) for symbol in map(_symbol, sizes)}


def _equal(sizes: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    environment = next((size.node.shape_env for size in sizes if not isinstance(size, int)), None)
    for guard in () if environment is None else environment.guards:
        if isinstance(guard.expr, sympy.Eq) and all(side.is_Symbol for side in guard.expr.args):
            yield guard.expr.args
