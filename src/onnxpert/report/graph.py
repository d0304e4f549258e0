"""The graph of the file, as little of it as a picture needs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from onnxpert.core.types import Location


class NodeKind(StrEnum):
    """What a box of the picture stands for."""

    INPUT = "input"
    OUTPUT = "output"
    OPERATOR = "operator"
    MISSING = "missing"  # an operator that has no lowering: a stub holds its place


@dataclass(frozen=True, slots=True)
class GraphNode:
    """One box: an operator of the file, an input or an output."""

    kind: NodeKind
    op: str  # the operator's type; "" for inputs and outputs
    name: str
    inputs: tuple[int, ...] = ()  # the nodes whose values it takes, by their place in the graph
    types: tuple[str, ...] = ()  # of its values: `float32[batch, 64]`
    weights: tuple[str, ...] = ()  # `fc.weight: float32[10, 64]`
    module: str = ""  # the path of the module that ran it
    body: str = ""  # of a node inside If, Loop or Scan: `node_if then_branch`
    place: int | None = None  # index of its line among the graph's places
    findings: tuple[int, ...] = ()  # indices of the report's findings that are about it
    diverges: bool = False  # the first whose value differs from the model's own


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in an order in which they can be computed, and the lines they come from."""

    nodes: tuple[GraphNode, ...]
    places: tuple[Location, ...] = ()
