"""What is computed inside of branches, handed out by the side that computes it.

The branches stay: a graph without them is optimised otherwise, and its values end in other digits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import onnx

Ask: TypeAlias = "Callable[[onnx.NodeProto], Iterable[str]]"


def exposed(model: onnx.ModelProto, asked: Ask) -> list[str]:
    """The names under which the graph has what is `asked` of its nodes and was computed, those in
    branches included: they become outputs of the branch, in double precision, and empty where the
    other side is taken. In place. What is inside of a loop has as many values as turns, and is left."""
    return _exposed(model.graph, asked, set(), itertools.count())


def _exposed(
    graph: onnx.GraphProto, asked: Ask, around: Collection[str], numbers: Iterator[int]
) -> list[str]:
    made = {*around, *(name for node in graph.node for name in node.output if name)}
    names = [name for node in graph.node for name in asked(node) if name in made]
    for node in graph.node:
        if node.op_type == "If" and not node.domain:
            names += _through(node, asked, made, numbers)
    return list(dict.fromkeys(names))


def _through(
    branch: onnx.NodeProto, asked: Ask, around: Collection[str], numbers: Iterator[int]
) -> list[str]:
    """What the sides of a branch have, as further outputs of it."""
    sides = [given.g for given in branch.attribute]
    inner = [(side, name) for side in sides for name in _exposed(side, asked, around, numbers)]
    handed = []
    for owner, name in inner:
        handed.append(f"onnxpert.exposed.{next(numbers)}")
        for side in sides:
            _give(side, name if side is owner else None, handed[-1])
    branch.output.extend(handed)
    return handed


def _give(side: onnx.GraphProto, name: str | None, handed: str) -> None:
    """A further output of a side: a value of its own, or one without elements."""
    from onnx import TensorProto, helper

    # Both sides must give one type, and a file need not say which a value inside has.
    double = TensorProto.DOUBLE
    if name is None:
        nothing = helper.make_tensor("", double, [0], [])
        side.node.append(helper.make_node("Constant", [], [f"{handed}.inner"], value=nothing))
    else:
        side.node.append(helper.make_node("Cast", [name], [f"{handed}.inner"], to=double))
    side.output.append(helper.make_tensor_value_info(f"{handed}.inner", double, None))
