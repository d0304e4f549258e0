"""What a loop leaves behind and nobody reads, taken out of it again."""

from __future__ import annotations

import operator
from typing import Any

import torch
from torch import fx

from onnxpert.core.loops import counted_loop, stopped_loop

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)


def prune(root: Any) -> None:
    """From the outermost loop in: what an outer one does not pass on, an inner one need not keep."""
    loops = [node for node in root.graph.nodes if node.target in (counted_loop, stopped_loop)]
    for node in reversed(loops):
        body = getattr(root, node.args[0].target)
        _prune(node, body.graph)
        prune(body)


def _prune(loop: fx.Node, body: fx.Graph) -> None:
    carried = len(loop.args[2])  # type: ignore[arg-type]
    carried += loop.target is stopped_loop  # whose first result is the number of turns
    parts: dict[Any, fx.Node] = {part.args[1]: part for part in loop.users}
    for number, part in list(parts.items()):
        if part.target is operator.getitem and not part.users:
            part.graph.erase_node(part)
            del parts[number]
    (output,) = (node for node in body.nodes if node.op == "output")
    given: Any = output.args[0]
    kept = [number for number in range(len(given)) if number < carried or number in parts]
    output.args = (tuple(given[number] for number in kept),)
    loop.meta["val"] = [loop.meta["val"][number] for number in kept]
    for place, number in enumerate(kept):
        if number in parts:
            parts[number].args = (loop, place)
    _sweep(body)


def _sweep(graph: fx.Graph) -> None:
    """Calls whose results nobody reads; what is written in place is read by others."""
    for node in reversed(list(graph.nodes)):
        schema = getattr(node.target, "_schema", None)
        writes = schema is not None and schema.is_mutable
        counts = isinstance(node.meta.get("val"), _SYMBOLS)  # read by its name
        if node.op in ("call_function", "get_attr") and not (node.users or writes or counts):
            graph.erase_node(node)
