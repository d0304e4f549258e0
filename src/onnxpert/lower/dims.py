"""Names of dynamic dimensions: the user's own, else what such an axis is usually called."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import onnx_ir as ir
import sympy
import torch
from torch import fx

from onnxpert.core.names import Names
from onnxpert.core.types import Captured, InputKind, InputLeaf, Symbol, replace
from onnxpert.lower.axis_names import axis_name
from onnxpert.lower.ranges import conditions, narrowed
from onnxpert.lower.symbols import Expr, expression

_LONGEST = 60


def name_symbols(captured: Captured) -> dict[Expr, str]:
    """A name for every symbol that is the size of an input, or an input itself."""
    leaves = {leaf.name: leaf for leaf in captured.loaded.leaves} if captured.loaded else {}
    nodes = _placeholders(captured)
    named: dict[Expr, str] = {}
    taken = Names()
    for entry, axis, value in _axes(captured):  # all the user's names first
        name = _given(leaves.get(entry), axis)
        if name:
            # Two sizes that the user gave one name keep it: that they are equal is their word.
            named.setdefault(expression(value.shape[axis]), name)
            taken.reserve(name)
    for entry, number in user_inputs(captured):
        if isinstance(number, torch.SymInt) and expression(number).is_Symbol:
            named.setdefault(expression(number), taken.unique(entry))
    for entry, axis, value in _axes(captured):
        symbol = expression(value.shape[axis])
        if symbol not in named:
            named[symbol] = taken.unique(axis_name(entry, axis, value, nodes.get(entry)))
    return named


def _axes(captured: Captured) -> Iterator[tuple[str, int, torch.Tensor]]:
    """Every axis of an input whose size is a symbol."""
    for entry, value in user_inputs(captured):
        if isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                if expression(size).is_Symbol:
                    yield entry, axis, value


def _given(leaf: InputLeaf | None, axis: int) -> str:
    spec = dict(leaf.dims).get(axis) if leaf else None
    return spec.name if spec is not None and spec.scale == 1 and not spec.offset else ""


def _placeholders(captured: Captured) -> dict[str, fx.Node]:
    """The nodes of the user's inputs, by the names of their leaves."""
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    return {
        entry.name: node
        for entry, node in zip(captured.inputs, placeholders, strict=True)
        if entry.kind is InputKind.USER
    }


def user_inputs(captured: Captured) -> list[tuple[str, Any]]:
    return [(name, node.meta["val"]) for name, node in _placeholders(captured).items()]


class DimPrinter:
    """Prints sizes with the names of their symbols: `batch*sequence`."""

    def __init__(self, names: Mapping[Expr, str]) -> None:
        self._names = {symbol: sympy.Symbol(name) for symbol, name in names.items()}
        self._cache: dict[Expr, str] = {}

    def __call__(self, size: Any) -> int | str:
        if isinstance(size, int):
            return size
        expr = expression(size)
        if expr.is_number:
            return int(expr)
        if expr not in self._cache:
            text = str(expr.xreplace(self._names))
            # What nobody can read, or write again in a runtime, is a size of its own.
            made_up = f"size_{sum(name.startswith('size_') for name in self._cache.values())}"
            self._cache[expr] = text if _is_readable(size, text) else made_up
        return self._cache[expr]

    def shape(self, sizes: Sequence[Any]) -> list[int | str]:
        return [self(size) for size in sizes]


def _is_readable(size: Any, text: str) -> bool:
    known = {"FloorDiv", "Mod", "PythonMod", "Max", "Min", "CleanDiv"}
    expr = expression(size)
    functions = {type(part).__name__ for part in expr.atoms(sympy.Function)}
    # Symbols that a capture has put in place of longer expressions say nothing to anybody.
    made_up = getattr(size.node.shape_env, "definitions", {}).keys() & expr.free_symbols
    return functions <= known and not made_up and len(text) <= _LONGEST


def symbol_table(captured: Captured, names: Mapping[Expr, str]) -> tuple[Symbol, ...]:
    """Every dynamic size with the range that the capture leaves it."""
    found: dict[str, Symbol] = {}
    leaves = {leaf.name: leaf for leaf in captured.loaded.leaves} if captured.loaded else {}
    sizes: list[tuple[str, int, Any]] = [
        (entry, axis, value.shape[axis].node)  # type: ignore[attr-defined]
        for entry, axis, value in _axes(captured)
    ]
    hints = {node.expr: int(node.hint) for _, _, node in sizes}
    held = conditions(captured, sizes[0][2].shape_env) if sizes else ()
    for entry, axis, node in sizes:
        name, leaf = names[node.expr], leaves.get(entry)
        if name in found:
            old = found[name]
            sources = (*old.sources, (entry, axis))
            lower = 0 if _is_empty(leaf, axis) else old.lower
            found[name] = replace(old, lower=lower, sources=sources)
            continue
        lower, upper = _range(node.shape_env, node.expr)
        spec = dict(leaf.dims).get(axis) if leaf is not None else None
        if spec is not None and spec.scale == 1 and not spec.offset:
            lower = max(lower, spec.lower or lower)
        low, high, place = narrowed(node.expr, hints, held)
        lower = 0 if _is_empty(leaf, axis) else max(lower, low)
        upper = high if upper is None else min(upper, high or upper)
        found[name] = Symbol(name, lower, upper, int(node.hint), ((entry, axis),), place)
    return tuple(found.values())


def write_ranges(model: ir.Model, symbols: Iterable[Symbol]) -> None:
    """Into the file, where whoever runs it can read them."""
    for symbol in symbols:
        upper = "" if symbol.upper is None else symbol.upper
        model.metadata_props[f"onnxpert.dim.{symbol.name}"] = f"{symbol.lower}..{upper}"


def _is_empty(leaf: InputLeaf | None, axis: int) -> bool:
    """Whether the example itself has nothing there: then nothing is a size like any other."""
    return leaf is not None and isinstance(leaf.value, torch.Tensor) and not leaf.value.shape[axis]


def _range(environment: Any, symbol: Expr) -> tuple[int, int | None]:
    bounds = environment.var_to_range[symbol]
    lower = int(bounds.lower) if bounds.lower.is_number and bounds.lower.is_finite else 0
    upper = int(bounds.upper) if bounds.upper.is_Integer and bounds.upper < 2**40 else None
    # torch starts every size at 2 because it takes 0 and 1 for constants; that is not a limit of
    # the model's, and the proof tries 1.
    return (1 if lower == 2 else lower), upper
