"""Every call of a captured graph, those in the sides of its branches and the bodies of its loops too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def calls(root: Any) -> Iterator[Any]:
    """In the order in which they stand; a body comes before what runs it."""
    for node in root.graph.nodes:
        if node.op == "call_function":
            yield node
        body = getattr(root, str(node.target), None) if node.op == "get_attr" else None
        if hasattr(body, "graph"):
            yield from calls(body)
