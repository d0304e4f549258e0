"""A file as it goes with certain inputs: the side of each branch that is taken, in place of the branch.

What is computed inside of a branch cannot be asked for from outside; what stands in its place can."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.targets.target import Array, Target
from onnxpert.verify.divergence import run_with_outputs

if TYPE_CHECKING:
    import onnx

_DEEPEST = 8  # branches inside of branches: each level is one more run


def unfolded(
    model: onnx.ModelProto, path: Path, target: Target, feeds: Mapping[str, Array]
) -> onnx.ModelProto:
    """The same answers to these inputs. Branches inside of a loop stay: they go both ways."""
    for _ in range(_DEEPEST):
        asked = [node.input[0] for node in model.graph.node if _is_open(node, model.graph)]
        if not asked:
            break
        computed = [name for name in dict.fromkeys(asked) if name not in feeds]
        answers = {**feeds, **run_with_outputs(model, computed, path, target, feeds)}
        model = _unfolded_once(model, {name: bool(answers[name].all()) for name in asked})
    return model


def _unfolded_once(model: onnx.ModelProto, answers: Mapping[str, bool]) -> onnx.ModelProto:
    import onnx

    fresh = onnx.ModelProto()
    fresh.CopyFrom(model)
    del fresh.graph.node[:]
    for node in model.graph.node:
        if not _is_open(node, fresh.graph) or not _is_open(node, model.graph):
            fresh.graph.node.append(node)
            continue
        side = _side(node, answers[node.input[0]])
        fresh.graph.initializer.extend(side.initializer)
        fresh.graph.node.extend(side.node)
        for inner, outer in zip(side.output, node.output, strict=True):
            if outer:
                fresh.graph.node.append(onnx.helper.make_node("Identity", [inner.name], [outer]))
    return fresh


def _is_open(node: onnx.NodeProto, graph: onnx.GraphProto) -> bool:
    """Whether it is a branch, and its sides have no names in common with what is around."""
    if node.op_type != "If" or node.domain:
        return False
    outer = set(_made(graph))
    return all(outer.isdisjoint(_made(_side(node, taken))) for taken in (True, False))


def _side(node: onnx.NodeProto, taken: bool) -> onnx.GraphProto:
    name = "then_branch" if taken else "else_branch"
    sides: dict[str, onnx.GraphProto] = {given.name: given.g for given in node.attribute}
    return sides[name]


def _made(graph: onnx.GraphProto) -> Iterable[str]:
    values: Sequence[Iterable[str]] = [node.output for node in graph.node]
    yield from (name for names in values for name in names if name)
    yield from (weight.name for weight in graph.initializer)
