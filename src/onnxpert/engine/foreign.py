"""What a lowered model holds that is not ONNX's own: nodes that need kernels, bodies that do not fit."""

from __future__ import annotations

from typing import Any

from onnxpert.core.bodies import qualified
from onnxpert.core.source import of_meta
from onnxpert.core.types import (
    Captured,
    Foreign,
    ForeignNode,
    Loaded,
    Location,
    Lowered,
    Request,
    Valueless,
)

# ONNX's own, and what ONNX Runtime has without being told.
_KNOWN = frozenset({"", "ai.onnx", "ai.onnx.ml", "ai.onnx.preview.training", "com.microsoft"})


def foreign(lowered: Lowered, request: Request) -> Foreign | None:
    """None when every node is one that runtimes know."""
    brought = {function.domain for function in lowered.model.functions.values()}
    found: dict[ForeignNode, None] = {}
    for node in lowered.model.graph.all_nodes():
        stub = node.domain == "onnxpert.unsupported"
        if not stub and node.domain not in _KNOWN and node.domain not in brought:
            place = _place(node.metadata_props.get("onnxpert.source", ""))
            found[ForeignNode(node.domain, node.op_type, place)] = None
    if not found:
        return None
    return Foreign(tuple(found), tuple(map(str, request.kernel_library)), request.verify)


def valueless(captured: Captured, request: Request) -> Valueless | None:
    """Calls of `torch.onnx.ops.symbolic`, for which torch computes zeros."""
    found = [
        ForeignNode(str(node.kwargs.get("domain", "")), str(node.args[1]), of_meta(node.meta))
        for node in captured.root.graph.nodes
        if qualified(node.target).startswith("onnx_symbolic::")
    ]
    return Valueless(tuple(found), request.verify) if found else None


def stuck_functions(lowered: Lowered, loaded: Loaded) -> frozenset[Any]:
    """Autograd functions with a `symbolic` whose bodies could not be lowered, and were tried."""
    inside = {missing.function for missing in lowered.unsupported if missing.function is not None}
    return frozenset(inside - loaded.whole)


def _place(text: str) -> Location | None:
    file, _, line = text.rpartition(":")
    return Location(file, int(line)) if file and line.isdecimal() else None
