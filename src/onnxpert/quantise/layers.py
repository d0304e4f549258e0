"""The nodes of a prepared file that have weights, by the names of the modules they come from."""

from __future__ import annotations

import difflib
import fnmatch
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.core.errors import UsageError
from onnxpert.core.types import Location, Lowered
from onnxpert.quantise.preparation import Prepared
from onnxpert.quantise.scheme import Scheme

if TYPE_CHECKING:
    import onnx

FEWEST = 64  # weights that are worth a thought
# What a layer is, and which of its inputs is the weight.
_WEIGHT = {
    "Conv": 1, "ConvTranspose": 1, "Gather": 0, "Gemm": 1, "GRU": 1, "LSTM": 1, "MatMul": 1, "RNN": 1,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Layer:
    """A node with weights."""

    node: str  # its name in the prepared file
    op_type: str
    weight: str  # the value that it reads its weights from, there
    output: str  # the first value it gives, there
    name: str  # path of the module, or the node's name in the user's file
    location: Location | None
    fits: bool  # the scheme has a form for it


def find_layers(prepared: Prepared, lowered: Lowered, scheme: Scheme) -> tuple[Layer, ...]:
    graph = prepared.model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer if _is_weight(tensor)}
    places = _Places(lowered)
    found = []
    for node in graph.node:
        held = [name for name in node.input if name in weights]
        if node.op_type not in _WEIGHT or node.domain not in ("", "ai.onnx") or not held:
            continue
        name, location = places.of(prepared, node)
        weight = node.input[_WEIGHT[node.op_type]]
        fits = node.op_type in scheme.operators and weight in weights
        fits = fits and _has_form(node, weights[weight])
        found.append(
            Layer(
                node=node.name,
                op_type=node.op_type,
                weight=weight,
                output=node.output[0],
                name=name,
                location=location,
                fits=fits,
            )
        )
    return tuple(found)


def _has_form(node: onnx.NodeProto, weight: onnx.TensorProto) -> bool:
    """What the runtime and its quantiser can do with a weight per channel."""
    if node.op_type in ("MatMul", "Gemm"):
        return len(weight.dims) == 2  # a stack of matrices has no kernel with a scale per column
    groups = next((each.i for each in node.attribute if each.name == "group"), 1)
    return node.op_type != "ConvTranspose" or groups == 1  # its bias is scaled by the wrong axis


def _is_weight(tensor: onnx.TensorProto) -> bool:
    import onnx

    if len(tensor.dims) < 2 or math.prod(tensor.dims) < FEWEST:
        return False
    return bool(tensor.data_type == onnx.TensorProto.FLOAT)


class _Places:
    """Where nodes come from, by their names and by those of the values they give."""

    def __init__(self, lowered: Lowered) -> None:
        self._locations = lowered.locations
        self._nodes = {str(node.name): node for node in lowered.model.graph}
        values = ((value.name, node) for node in lowered.model.graph for value in node.outputs)
        self._makers = {str(name): node for name, node in values}

    def of(self, prepared: Prepared, node: onnx.NodeProto) -> tuple[str, Location | None]:
        # A convolution that took in a norm gives the norm's value and keeps its own name.
        name = prepared.tokens.name(node.name)
        value = prepared.tokens.name(node.output[0])
        source = self._nodes.get(name) or self._makers.get(value)
        while source is None and "/" in name:  # a fusion adds to the name of what it grew out of
            name = name.rpartition("/")[0]
            source = self._nodes.get(name)
        if source is None:
            return name, self._locations.get(value)
        module = source.metadata_props.get("onnxpert.module", "")
        made = (self._locations.get(str(each.name)) for each in source.outputs)
        return module or name, next((place for place in made if place is not None), None)


def asked_for(layers: Iterable[Layer], patterns: Iterable[str]) -> frozenset[str]:
    """The nodes that shall stay in float32; UsageError for a pattern that is about none."""
    known = tuple(layers)
    found: set[str] = set()
    for pattern in patterns:
        matched = {layer.node for layer in known if _matches(layer, pattern)}
        if not matched:
            names = sorted({layer.name for layer in known})
            near = difflib.get_close_matches(pattern, names, 3) or names[:5]
            listed = ", ".join(near) or "none"
            raise UsageError(
                f"quantize_exclude: no layer with weights is called {pattern!r}",
                f"the path of a module (all below it are meant), with * for any; such as {listed}",
            )
        found |= matched
    return frozenset(found)


def _matches(layer: Layer, pattern: str) -> bool:
    inside = layer.name == pattern or layer.name.startswith(f"{pattern}.")
    return inside or layer.op_type == pattern or fnmatch.fnmatchcase(layer.name, pattern)


def unturned(layers: Iterable[Layer], quantised: Path) -> frozenset[str]:
    """Those that read in the quantised file the weight that they read before."""
    import onnx

    graph = onnx.load(quantised, load_external_data=False).graph
    nodes = {node.name: node for node in graph.node}
    same = (
        layer.node
        for layer in layers
        if layer.node in nodes
        and nodes[layer.node].op_type == layer.op_type
        and layer.weight in nodes[layer.node].input
    )
    return frozenset(same)


def of_scheme(layers: Iterable[Layer], left: frozenset[str]) -> Iterator[Layer]:
    """Those that are turned: the scheme can, and nobody wants them left."""
    return (layer for layer in layers if layer.fits and layer.node not in left)
