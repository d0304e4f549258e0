"""What flows where in a captured graph: who writes an input, and whether a result depends on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from onnxpert.core.types import Captured

if TYPE_CHECKING:
    from torch import fx


def _storage(node: fx.Node) -> int | None:
    value: Any = node.meta.get("val")
    if not hasattr(value, "untyped_storage"):
        return None
    try:
        return int(value.untyped_storage()._cdata)
    except NotImplementedError:  # a tensor inside vmap has none of its own
        return None


def _written(node: fx.Node) -> Iterator[Any]:
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or schema is None or not schema.is_mutable:
        return
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = node.args[index] if index < len(node.args) else node.kwargs.get(argument.name)
            if hasattr(given, "meta"):
                yield given


def writes(captured: Captured) -> Iterator[tuple[int, fx.Node]]:
    """Each graph input that a call writes to, itself or through a view, with the first such call."""
    placeholders = [node for node in captured.root.graph.nodes if node.op == "placeholder"]
    owners = {_storage(node): index for index, node in enumerate(placeholders)}
    owners.pop(None, None)
    seen: set[int] = set()
    for node in captured.root.graph.nodes:
        for given in _written(node):
            index = owners.get(_storage(given))
            if index is not None and index not in seen:
                seen.add(index)
                yield index, node


def reaches_output(captured: Captured, index: int) -> bool:
    """Whether any output depends on a graph input, through values or through shared storage."""
    nodes = list(captured.root.graph.nodes)
    start = [node for node in nodes if node.op == "placeholder"][index]
    touched, storages = {start}, {_storage(start)}
    for node in nodes:
        inputs = node.all_input_nodes
        if node.op == "output":
            return any(i in touched or _storage(i) in storages for i in inputs)
        if any(given in touched for given in inputs):
            touched.add(node)
            storages.update(_storage(given) for given in _written(node))
            storages.discard(None)
        elif node is not start and _storage(node) in storages:
            touched.add(node)
    return False
