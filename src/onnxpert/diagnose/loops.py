"""The loops of a captured graph, and the lines of the source that they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from onnxpert.core.calls import calls
from onnxpert.core.source import location
from onnxpert.core.surrounding import loops_around
from onnxpert.core.types import Location


def headers(root: Any) -> Iterator[Location]:
    """The line of the `for` or `while` that each loop is, where there is one."""
    for body in _bodies(root):
        at = _header(body)
        if at is not None:
            yield at


def _bodies(root: Any) -> Iterator[Any]:
    """The bodies of the loops, those in branches and in other loops too."""
    for node in root.graph.nodes:
        looks = [each for each in node.all_input_nodes if each.op == "get_attr"]
        inner = [getattr(root, str(each.target), None) for each in looks]
        held = [body for body in inner if hasattr(body, "graph")]
        if held and getattr(node.target, "__name__", "") != "cond":
            yield held[-1]
        for body in held:
            yield from _bodies(body)


def _header(body: Any) -> Location | None:
    """The innermost loop of the source that all calls of a body are in."""
    common: list[tuple[str, int]] | None = None
    frames: tuple[Any, ...] = ()
    for node in calls(body):
        if not node.meta.get("frames"):
            continue
        frames = node.meta["frames"]
        around = [(f[0], line) for f in frames for line in loops_around(f[0], f[1])]
        common = around if common is None else [each for each in common if each in around]
    if not common:
        return None
    file, line = common[-1]
    name = next((frame[2] for frame in frames if frame[0] == file), "")
    return location(((file, line, name),))
