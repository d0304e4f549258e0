"""How much each layer loses: alone, and with all before it quantised, on the same inputs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onnxpert.quantise.layers import Layer
from onnxpert.quantise.naming import rename_node
from onnxpert.quantise.preparation import Prepared
from onnxpert.quantise.scheme import Feeds
from onnxpert.targets import find

if TYPE_CHECKING:
    import onnx

_WHOLE = "whole/"  # the quantised file
_ALONE = "alone/"  # each of its layers with what the float file feeds it


@dataclass(frozen=True, slots=True)
class Loss:
    """Errors of what a layer gives, as shares of its norm."""

    own: float
    there: float


def losses(
    prepared: Prepared, quantised: Path, layers: Sequence[Layer], feeds: Feeds
) -> dict[str, Loss]:
    """By the node's name; a layer whose value the quantised file no longer has is left out.

    Both files and the single layers are one model for one run: only three numbers per layer come
    out of it, computed by the runtime itself."""
    import onnx

    other = onnx.load(quantised, load_external_data=False)
    pair = _Pair(prepared.model, other)
    measured = pair.add(layers)
    if not measured:
        return {}
    path = prepared.path.with_name("losses.onnx")
    onnx.save(pair.model, path)
    run = find("ort-cpu").open(path)
    sums = [[0.0, 0.0, 0.0] for _ in measured]
    for feed in feeds:
        numbers = iter(run(feed))
        for triple in sums:
            for at in range(3):
                triple[at] += float(next(numbers))
    return {
        layer.node: Loss(_share(own, norm), _share(there, norm))
        for layer, (own, there, norm) in zip(measured, sums, strict=True)
    }


def _share(error: float, norm: float) -> float:
    if norm == 0 or not math.isfinite(norm):
        return 0.0 if error == 0 else math.inf
    return math.sqrt(error / norm) if math.isfinite(error) else math.inf


class _Pair:
    """The float graph, the quantised graph beside it, and each of its layers by itself."""

    def __init__(self, model: onnx.ModelProto, other: onnx.ModelProto) -> None:
        import onnx

        self.model = onnx.ModelProto()
        self.model.CopyFrom(model)
        self._graph = self.model.graph
        del self._graph.output[:], self._graph.value_info[:]
        self._inputs = {value.name for value in model.graph.input}
        self._values = {name for node in model.graph.node for name in node.output if name}
        self._nodes = list(other.graph.node)
        self._makers = {name: node for node in self._nodes for name in node.output if name}
        self._weights = {tensor.name for tensor in other.graph.initializer}
        self._imports(other)
        for tensor in other.graph.initializer:
            self._graph.initializer.add().CopyFrom(tensor)
            self._graph.initializer[-1].name = _WHOLE + tensor.name
        for node in other.graph.node:
            self._append(node, self._in_whole)

    def _imports(self, other: onnx.ModelProto) -> None:
        known = {each.domain for each in self.model.opset_import}
        self.model.opset_import.extend(
            each for each in other.opset_import if each.domain not in known
        )

    def _append(self, node: onnx.NodeProto, change: Callable[[str], str]) -> None:
        new = self._graph.node.add()
        new.CopyFrom(node)
        new.name = change(f"{node.name}/") + str(len(self._graph.node))
        rename_node(new, change)

    def _in_whole(self, name: str) -> str:
        return name if not name or name in self._inputs else _WHOLE + name

    def add(self, layers: Sequence[Layer]) -> tuple[Layer, ...]:
        """Three numbers about each layer as outputs; those that both files have a value of."""
        common = tuple(layer for layer in layers if layer.output in self._makers)
        self._alone([layer.output for layer in common])
        for layer in common:
            value = layer.output
            own = self._squares(self._node("Sub", [_ALONE + value, value], f"{value}/own"))
            there = self._squares(self._node("Sub", [_WHOLE + value, value], f"{value}/there"))
            for name in (own, there, self._squares(value)):
                self._output(name)
        return common

    def _alone(self, values: Sequence[str]) -> None:
        """What the quantised file does to make these, from values of the float graph."""
        wanted, needed = list(values), set[int]()
        while wanted:
            node = self._makers[wanted.pop()]
            if id(node) not in needed:
                needed.add(id(node))
                inner = (name for name in node.input if not self._is_float(name))
                wanted += [name for name in inner if name in self._makers]
        for node in self._nodes:
            if id(node) in needed:
                new = self._graph.node.add()
                new.CopyFrom(node)
                new.name = f"{_ALONE}{len(self._graph.node)}"
                self._rename_alone(new)

    def _is_float(self, name: str) -> bool:
        return name in self._values or name in self._inputs

    def _rename_alone(self, node: onnx.NodeProto) -> None:
        inputs = [self._read_alone(name) for name in node.input]
        outputs = [name and _ALONE + name for name in node.output]
        del node.input[:], node.output[:]
        node.input.extend(inputs)
        node.output.extend(outputs)

    def _read_alone(self, name: str) -> str:
        if not name or self._is_float(name):
            return name
        return (_WHOLE if name in self._weights else _ALONE) + name

    def _node(self, op_type: str, inputs: list[str], result: str, **attributes: Any) -> str:
        import onnx

        self._graph.node.append(onnx.helper.make_node(op_type, inputs, [result], **attributes))
        return result

    def _squares(self, name: str) -> str:
        return self._node("ReduceSumSquare", [name], f"{name}/squares", keepdims=0)

    def _output(self, name: str) -> None:
        import onnx

        self._graph.output.append(
            onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [])
        )


def worst(found: Mapping[str, Loss], bound: float) -> frozenset[str]:
    """The nodes that alone are further off than the whole may be."""
    return frozenset(node for node, loss in found.items() if not loss.own <= bound)
