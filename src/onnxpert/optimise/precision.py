"""Another precision than the model's own: nodes and weights turned, those that would suffer kept."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir

from onnxpert.core.tolerance import tolerance
from onnxpert.core.types import KeptWide, Lowered, Narrowed
from onnxpert.optimise.retyping import Retyping
from onnxpert.targets.signature import signature

WIDE = ir.DataType.FLOAT
DTYPES = {
    "float16": ir.DataType.FLOAT16,
    "bfloat16": ir.DataType.BFLOAT16,
    "float32": ir.DataType.FLOAT,
}
# They have bodies, or make something out of nothing: their readers turn what they give.
_AS_THEY_ARE = frozenset(
    {"If", "Loop", "Scan", "Constant", "ConstantOfShape", "EyeLike", "CastLike"}
)
_MOST_UNDERFLOW = 0.05  # share of the values of a tensor
Probe = Callable[[onnx.ModelProto], list[np.ndarray]]
Fails = Callable[[ir.Node, ir.DataType], bool]


def to_precision(lowered: Lowered, name: str, probe: Probe, fails: Fails) -> Narrowed:
    """The model in that precision, its inputs and outputs as they were.

    `probe` runs a model with the example and gives its outputs, `fails` tells of a node that would
    not run in that precision, which stays as it is. Narrower than float32, a node is
    left as it is when, on the example, rounding what it reads and gives costs more than the
    tolerance of that precision, or overflows."""
    model = lowered.model
    if name == "float32":
        for half in (ir.DataType.FLOAT16, ir.DataType.BFLOAT16):
            _turn(model, half, WIDE, ())
        return Narrowed(name, (), 0)
    to = DTYPES[name]
    lacking = {node for node in model.graph if fails(node, to)}
    nodes = [node for node in model.graph if node not in lacking and _can(node, model, WIDE, to)]
    lost = _losses(model, nodes, to, probe)
    bound = tolerance(name)[0]
    kept = {node: loss for node, loss in lost.items() if not loss <= bound}
    feeding = _feeding(kept)
    places = [
        KeptWide(node.op_type, loss, lowered.locations.get(str(node.outputs[0].name)))
        for node, loss in kept.items()
    ] + [
        KeptWide(
            node.op_type,
            kept[reader],
            lowered.locations.get(str(node.outputs[0].name)),
            reader.op_type,
        )
        for node, reader in feeding.items()
    ]
    turned = _turn(model, WIDE, to, {*lacking, *kept, *feeding})
    return Narrowed(name, tuple(places), turned)


def _feeding(kept: Mapping[ir.Node, float]) -> dict[ir.Node, ir.Node]:
    """What makes the values that a kept node must not be given rounded -> that node."""
    found: dict[ir.Node, ir.Node] = {}
    for reader, loss in kept.items():
        if not math.isfinite(loss):  # what it gives is too large; what it reads may be narrow
            continue
        for value in reader.inputs:
            maker = None if value is None or value.dtype != WIDE else value.producer()
            if maker is not None and maker not in kept:
                found.setdefault(maker, reader)
    return found


def _can(node: ir.Node, model: ir.Model, old: ir.DataType, new: ir.DataType) -> bool:
    if node.op_type in _AS_THEY_ARE or node.op_type.startswith("Random"):
        return False
    if not any(value is not None and value.dtype == old for value in (*node.inputs, *node.outputs)):
        return False
    found = signature(node, model.opset_imports.get("", 0))
    return found is not None and found.allows(_free(found.types(node, {old: new})))


def _free(types: Mapping[str, str]) -> dict[str, str]:
    """Without what the standard fixes, such as the scales of Resize."""
    return {name: kind for name, kind in types.items() if not name.startswith("tensor(")}


def _turn(model: ir.Model, old: ir.DataType, new: ir.DataType, kept: Collection[ir.Node]) -> int:
    retyping = Retyping(old, new, model.opset_imports.get("", 0))
    nodes = [node for node in model.graph if _can(node, model, old, new) and node not in kept]
    for node in nodes:
        retyping.turn(node)
    _store(model, old, new)
    return len(nodes)


def _store(model: ir.Model, old: ir.DataType, new: ir.DataType) -> None:
    """Weights that are only read through a cast are stored as what it gives."""
    for value in tuple(model.graph.initializers.values()):
        readers = {node for node, _ in value.uses()}
        if value.dtype != old or value.const_value is None or value.is_graph_output():
            continue
        casts = [
            node for node in readers
            if node.op_type == "Cast" and node.attributes["to"].as_int() == new
        ]  # fmt: skip
        if not casts or len(casts) < len(readers):
            continue
        name = str(value.name)
        tensor = ir.tensor(value.const_value.numpy().astype(new.numpy()), dtype=new, name=name)
        model.graph.initializers.pop(name)
        stored = ir.Value(name=name, shape=value.shape, type=ir.TensorType(new), const_value=tensor)
        stored.meta.update(value.meta)
        model.graph.register_initializer(stored)
        for cast in casts:
            ir.convenience.replace_all_uses_with(cast.outputs[0], stored)
            model.graph.remove(cast, safe=True)


def _losses(
    model: ir.Model, nodes: list[ir.Node], to: ir.DataType, probe: Probe
) -> dict[ir.Node, float]:
    """For each node, how far its outputs move when it reads and gives rounded values.

    Computed in float32 by the runtime itself, beside the model: only a number per node comes out."""
    proto = ir.to_proto(model)
    del proto.graph.output[:]
    shadows = _Shadows(proto.graph, to)
    measured = []
    by_name = {node.name: node for node in proto.graph.node}
    for node in nodes:
        dtypes = {str(v.name): v.dtype for v in (*node.inputs, *node.outputs) if v is not None}
        result = next((v for v in node.outputs if v.dtype == WIDE), None)
        if result is not None and node.name in by_name:
            shadows.add(by_name[node.name], dtypes, str(result.name))
            measured.append(node)
    if not measured:
        return {}
    numbers = iter(probe(proto))
    found = {}
    for node in measured:
        loss, *shares = (float(next(numbers)) for _ in range(shadows.counts[node.name]))
        # Below the normal range digits are lost, of small values only, which the loss does not see.
        under = max(shares)
        found[node] = max(loss, under) if under > _MOST_UNDERFLOW and math.isfinite(loss) else loss
    return found


class _Shadows:
    """A second, rounded copy of nodes, added to a graph with the distance as an output."""

    def __init__(self, graph: onnx.GraphProto, to: ir.DataType) -> None:
        self._graph = graph
        self._to = int(to)
        self._rounded: dict[str, str] = {}
        self._shares: dict[str, str] = {}
        self.counts: dict[str | None, int] = {}  # node -> how many numbers are about it
        low = np.array(2.0**-14 if to == ir.DataType.FLOAT16 else 2.0**-126, np.float32)
        graph.initializer.append(onnx.numpy_helper.from_array(low, "shadow/low"))
        zero = onnx.numpy_helper.from_array(np.array(0.0, np.float32), "shadow/zero")
        graph.initializer.append(zero)
        tiny = onnx.numpy_helper.from_array(np.array(1e-30, np.float32), "shadow/tiny")
        graph.initializer.append(tiny)

    def _node(self, op_type: str, inputs: list[str], result: str, **attributes: Any) -> str:
        self._graph.node.append(onnx.helper.make_node(op_type, inputs, [result], **attributes))
        return result

    def _round(self, name: str) -> str:
        if name not in self._rounded:
            half = self._node("Cast", [name], f"shadow/{name}/half", to=self._to)
            self._rounded[name] = self._node("Cast", [half], f"shadow/{name}", to=int(WIDE))
        return self._rounded[name]

    def add(
        self, node: onnx.NodeProto, dtypes: Mapping[str, ir.DataType | None], result: str
    ) -> None:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        copy.name = f"shadow/{node.name}"
        inputs = [self._round(name) if dtypes.get(name) == WIDE else name for name in node.input]
        outputs = [f"shadow/{node.name}/{name}" if name else "" for name in node.output]
        del copy.input[:], copy.output[:]
        copy.input.extend(inputs)
        copy.output.extend(outputs)
        self._graph.node.append(copy)
        mine = outputs[list(node.output).index(result)]
        stem = f"shadow/{node.name}"
        apart = self._node("Sub", [self._round(mine), result], f"{stem}/apart")
        most = self._largest(apart, f"{stem}/most")
        scale = self._node(
            "Add", [self._largest(result, f"{stem}/of"), "shadow/tiny"], f"{stem}/scale"
        )
        loss = self._node("Div", [most, scale], f"{stem}/loss")
        wide = {result, *(name for name in node.input if dtypes.get(name) == WIDE)}
        about = [loss, *(self._share(name) for name in sorted(wide))]
        self.counts[node.name] = len(about)
        for name in about:
            own = self._node("Identity", [name], f"{stem}/{len(self._graph.output)}")
            self._graph.output.append(
                onnx.helper.make_tensor_value_info(own, onnx.TensorProto.FLOAT, [])
            )

    def _share(self, name: str) -> str:
        """How many of the values are below the normal range, and not zero."""
        if name not in self._shares:
            stem = f"shadow/{name}/low"
            size = self._node("Abs", [name], f"{stem}/abs")
            below = self._node("Less", [size, "shadow/low"], f"{stem}/below")
            above = self._node("Greater", [size, "shadow/zero"], f"{stem}/above")
            both = self._node("And", [below, above], f"{stem}/both")
            counted = self._node("Cast", [both], f"{stem}/counted", to=int(WIDE))
            self._shares[name] = self._node("ReduceMean", [counted], stem, keepdims=0)
        return self._shares[name]

    def _largest(self, name: str, result: str) -> str:
        size = self._node("Abs", [name], f"{result}/abs")
        return self._node("ReduceMax", [size], result, keepdims=0)
