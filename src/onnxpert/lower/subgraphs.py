"""Graphs inside of a graph, the bodies of branches and loops, and the values that go in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch
from torch import fx

from onnxpert.lower.complex_pairs import REAL, constant, converted
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.symbols import expression


def inlined(op: Emitter, graph: fx.GraphModule, given: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(walked(op, graph, given))


def walked(op: Emitter, graph: fx.GraphModule, given: Sequence[Any]) -> list[Any]:
    """The results of a subgraph, its nodes written into `op`."""
    for example, value in zip(examples(graph), given, strict=True):
        _bind(op, example, value)
    return op.shared.inline(op, graph, list(given))


def beside(op: Emitter, home: Emitter) -> Emitter:
    """Writes into `home` and knows only what `op` knows: one graph, walked a second time, gives its
    symbols other meanings."""
    other = op.scope()
    other.nodes = home.nodes
    return other


def _bind(op: Emitter, example: Any, value: Any) -> None:
    """Symbols that only the subgraph knows are read off what it is given."""
    if isinstance(example, (torch.SymInt, torch.SymFloat)):
        symbol = expression(example)
        if symbol.is_Symbol and not op.knows(symbol):
            op.bind(symbol, op.scalar(value, _dtype(example)), None)
    elif isinstance(example, torch.Tensor) and isinstance(value, ir.Value):
        for axis, size in enumerate(example.shape):
            symbol = expression(size)
            if symbol.is_Symbol and not op.knows(symbol):
                op.bind(symbol, value, axis)


def examples(graph: fx.GraphModule) -> list[Any]:
    return [node.meta.get("val") for node in graph.graph.nodes if node.op == "placeholder"]


def expected(op: Emitter) -> list[Any]:
    if not isinstance(op.out, (list, tuple)):
        raise Refusal("what it gives is not known")
    return list(op.out)


def _dtype(example: Any) -> torch.dtype | None:
    if isinstance(example, torch.Tensor):
        return REAL.get(example.dtype, example.dtype)
    if isinstance(example, (bool, torch.SymBool)):
        return torch.bool
    if isinstance(example, torch.SymFloat):
        return torch.float64  # as size arithmetic has it
    return torch.int64 if isinstance(example, (int, torch.SymInt)) else None


def typed(op: Emitter, value: Any, example: Any) -> ir.Value:
    if value is None:
        raise Refusal("None goes through a branch or a loop")
    if isinstance(example, torch.Tensor) and example.is_complex():
        whole = value if isinstance(value, ir.Value) else constant(op, torch.tensor(value))
        return converted(op, whole, example.dtype)
    return op.scalar(value, _dtype(example))


def formal(op: Emitter, name: str, dtype: torch.dtype) -> ir.Value:
    value = ir.Value(
        name=op.shared.values.unique(name), type=ir.TensorType(TO_ONNX[dtype]), shape=ir.Shape([])
    )
    value.meta["shape"] = ()
    return value


def formal_like(op: Emitter, name: str, example: Any) -> ir.Value:
    dtype = _dtype(example)
    if dtype is None:
        raise Refusal("a loop carries something that is neither a tensor nor an integer")
    value = formal(op, name, dtype)
    if isinstance(example, torch.Tensor):
        value.shape = None  # it may change from turn to turn
        value.meta.update(shape=tuple(example.shape), complex=example.is_complex())
    return value


def outputs(op: Emitter, results: Sequence[Any], examples: Sequence[Any]) -> list[ir.Value]:
    """The results as outputs of a body: each made inside it, in its dtype, and only once."""
    values = [typed(op, result, example) for result, example in zip(results, examples, strict=True)]
    inside = {id(output) for node in op.nodes for output in node.outputs}
    found: list[ir.Value] = []
    for value in values:
        first = id(value) in inside and all(value is not other for other in found)
        found.append(value if first else copy(op, value))
    return found


def copy(op: Emitter, value: ir.Value) -> ir.Value:
    # `op.Identity` would give the value itself, which is what an output must not be.
    node = ir.Node("", "Identity", [value], num_outputs=1)
    node.name = op.shared.nodes.unique("Identity")
    op.nodes.append(node)
    result = node.outputs[0]
    result.name = op.shared.values.unique(f"{value.name}_out")
    if value.dtype is not None:
        result.dtype = value.dtype
    known = {key: value.meta[key] for key in ("shape", "complex") if key in value.meta}
    result.meta.update(known)
    return result


def graph(
    op: Emitter, name: str, inputs: Sequence[ir.Value], outputs: Sequence[ir.Value]
) -> ir.Graph:
    return ir.Graph(inputs, outputs, nodes=op.nodes, name=op.shared.nodes.unique(name))


def attributes(graphs: dict[str, ir.Graph]) -> dict[str, Any]:
    return {name: ir.AttrGraph(name, graph) for name, graph in graphs.items()}


def described(op: Emitter, outputs: Any, expected: Sequence[Any]) -> tuple[ir.Value, ...]:
    many = outputs if isinstance(outputs, tuple) else (outputs,)
    for value, example in zip(many, expected, strict=True):
        dtype = _dtype(example)
        if isinstance(example, torch.Tensor):
            op.describe(value, tuple(example.shape), dtype)
            continue
        op.describe(value, (), dtype)
        if isinstance(example, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            op.bind_number(expression(example), value)
    return many


def sizes_in_file(example: torch.Tensor) -> tuple[Any, ...]:
    """Complex numbers are pairs there."""
    return (*example.shape, 2) if example.is_complex() else tuple(example.shape)
