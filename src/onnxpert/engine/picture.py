"""The lowered graph as the report draws it: boxes, what they take, and where they come from."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert.core.types import Divergence, Finding, Location, Severity, replace
from onnxpert.report.graph import Graph, GraphNode, NodeKind

if TYPE_CHECKING:
    import onnx_ir as ir

logger = logging.getLogger(__name__)

_STUBS = "onnxpert.unsupported"


def drawn(model: ir.Model) -> Graph:
    """Every node of a model and of the bodies inside it, in an order that can be computed."""
    pen = _Pen()
    for value in model.graph.inputs:
        pen.value(NodeKind.INPUT, value)
    pen.body(model.graph)
    for value in model.graph.outputs:
        pen.value(NodeKind.OUTPUT, value)
    return Graph(tuple(pen.nodes), tuple(pen.places))


def marked(graph: Graph, findings: Sequence[Finding], divergence: Divergence | None) -> Graph:
    """The graph with each node's findings by their index, and the node that first went wrong."""
    about: dict[int, list[int]] = {}
    for index, finding in enumerate(findings):
        for node in _concerned(graph, finding):
            about.setdefault(node, []).append(index)
    first = divergence.node if divergence else None
    return Graph(
        tuple(
            replace(node, findings=tuple(about.get(at, ())), diverges=node.name == first)
            if at in about or node.name == first
            else node
            for at, node in enumerate(graph.nodes)
        ),
        graph.places,
    )


def _concerned(graph: Graph, finding: Finding) -> list[int]:
    """The nodes that come from the line of a finding, in the modules that it names."""
    if finding.location is None or finding.severity is Severity.INFO:
        return []
    where = (finding.location.file, finding.location.line)
    places = {at for at, each in enumerate(graph.places) if (each.file, each.line) == where}
    found = [
        at
        for at, node in enumerate(graph.nodes)
        if node.place in places and (not finding.modules or node.module in finding.modules)
    ]
    # Where an operator of the line is missing, it is the one that is meant.
    return [at for at in found if graph.nodes[at].kind is NodeKind.MISSING] or found


def type_of(value: ir.Value) -> str:
    """`float32[batch, 3]`; what is not known is a question mark or dots."""
    dtype = value.dtype.numpy().name if value.dtype is not None else "?"
    sizes = ", ".join(str(size) for size in value.shape) if value.shape is not None else "..."
    return f"{dtype}[{sizes}]"


class _Pen:
    """Gathers nodes while it walks; a value is known by the node that makes it."""

    def __init__(self) -> None:
        self.nodes: list[GraphNode] = []
        self.places: list[Location] = []
        self._made: dict[int, int] = {}  # id of a value -> index of the node that makes it
        self._known: dict[tuple[str, str], int] = {}  # source, code -> index of the place

    def value(self, kind: NodeKind, value: ir.Value, module: str = "", body: str = "") -> None:
        """A box for an input or an output of the graph, or of a body."""
        inputs = tuple(self._makers([value])) if kind is NodeKind.OUTPUT else ()
        if kind is NodeKind.INPUT:
            self._made[id(value)] = len(self.nodes)
        types = (type_of(value),) if _typed(value) else ()
        name = value.name or ""
        self.nodes.append(GraphNode(kind, "", name, inputs, types, module=module, body=body))

    def body(self, graph: Any, body: str = "") -> None:
        for node in graph:
            if node.op_type != "Constant" or node.domain not in ("", "ai.onnx"):
                self._node(node, body)

    def _node(self, node: ir.Node, body: str) -> None:
        notes = node.metadata_props
        module = _module(node)
        results = list(self._bodies(node, module, body))
        taken = [value for value in node.inputs if value is not None]
        for value in node.outputs:
            self._made[id(value)] = len(self.nodes)
        self.nodes.append(
            GraphNode(
                NodeKind.MISSING if node.domain == _STUBS else NodeKind.OPERATOR,
                node.op_type,
                node.name or "",
                tuple(dict.fromkeys(self._makers([*taken, *results]))),
                tuple(type_of(value) for value in node.outputs if _typed(value)),
                tuple(_weight(value) for value in taken if _is_weight(value)),
                module,
                body,
                self._place(notes),
            )
        )

    def _bodies(self, node: ir.Node, module: str, around: str) -> Iterator[ir.Value]:
        """Draws what is inside a node before the node itself, and gives the values it gets."""
        for attribute in node.attributes.values():
            if attribute.type.name != "GRAPH":
                continue
            graph = attribute.as_graph()
            inside = f"{around} {node.name or node.op_type} {attribute.name}".strip()
            for value in graph.inputs:
                self.value(NodeKind.INPUT, value, module, inside)
            self.body(graph, inside)
            yield from graph.outputs

    def _makers(self, values: Iterable[ir.Value]) -> Iterator[int]:
        for value in values:
            if id(value) in self._made:
                yield self._made[id(value)]

    def _place(self, notes: Any) -> int | None:
        file, _, line = notes.get("onnxpert.source", "").rpartition(":")
        if not file or not line.isdecimal():
            return None
        key = (notes["onnxpert.source"], notes.get("onnxpert.code", ""))
        if key not in self._known:
            self._known[key] = len(self.places)
            self.places.append(Location(file, int(line), code=key[1]))
        return self._known[key]


def read(path: Path) -> Graph | None:
    """The graph of a file from any exporter; None where it cannot be read as a graph."""
    import onnx_ir as ir

    try:
        return drawn(ir.load(path))
    except Exception:  # whatever is wrong with the file, the runtime has said it already
        logger.info("%s cannot be drawn", path, exc_info=True)
        return None


def _module(node: ir.Node) -> str:
    """The path of the module that ran a node, as our files say it, or torch's two exporters."""
    notes = node.metadata_props
    if "onnxpert.module" in notes:
        return notes["onnxpert.module"]
    if "pkg.torch.onnx.name_scopes" in notes:
        # ['', 'layers.0', 'layers.0.fc', 'linear']: the modules, then the node of the trace.
        scopes = re.findall(r"'([^']*)'", notes["pkg.torch.onnx.name_scopes"])
        return scopes[-2] if len(scopes) > 1 else ""
    name = node.name or ""
    return ".".join(name.split("/")[1:-1]) if name.startswith("/") else ""


def _typed(value: ir.Value) -> bool:
    return value.dtype is not None or value.shape is not None


def _is_weight(value: ir.Value) -> bool:
    maker = value.producer()
    return value.const_value is not None or (maker is not None and maker.op_type == "Constant")


def _weight(value: ir.Value) -> str:
    return f"{value.name}: {type_of(value)}" if _typed(value) else value.name or ""
