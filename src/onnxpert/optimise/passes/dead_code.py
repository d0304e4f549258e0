"""Nodes, outputs and initialisers that nothing reads."""

from __future__ import annotations

from collections.abc import Iterator

import onnx_ir as ir
from onnx_ir.passes.common import RemoveUnusedNodesPass


def remove(model: ir.Model) -> None:
    RemoveUnusedNodesPass()(model)
    # A node of a body that was written and not used still counts as a reader to onnx-ir.
    read = set(_read(model.graph))
    for name, value in tuple(model.graph.initializers.items()):
        if value not in read and not value.is_graph_input():
            del model.graph.initializers[name]


def _read(graph: ir.Graph) -> Iterator[ir.Value | None]:
    """What the nodes of a graph and of the bodies in it read, and what it gives out."""
    yield from graph.outputs
    for node in graph:
        yield from node.inputs
        for attribute in node.attributes.values():
            if attribute.type == ir.AttributeType.GRAPH:
                yield from _read(attribute.as_graph())
            elif attribute.type == ir.AttributeType.GRAPHS:
                for body in attribute.as_graphs():
                    yield from _read(body)
