"""A float file as a quantiser likes it: constants folded, norms in the convolutions, names of its own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from onnxpert.quantise.naming import Tokens, bodies, every_node, renamed

if TYPE_CHECKING:
    import onnx

SMALL_BYTES = 1024  # shapes and axes stay in the file


@dataclass(frozen=True, slots=True)
class Prepared:
    """The file, the same as a graph without its large weights, and what its names stand for."""

    path: Path
    model: onnx.ModelProto
    tokens: Tokens


def prepare(path: Path, directory: Path, *, split_gemm: bool) -> Prepared:
    """ONNX Runtime's own simplifications first: LSTM weights are constants only after them."""
    import onnx

    prepared = directory / "prepared.onnx"
    _simplify(path, prepared)
    model = onnx.load(prepared, load_external_data=False)
    tokens = Tokens()
    _tidy(model.graph, tokens)
    if split_gemm:
        _Split(model, tokens, directory).graph(model.graph)
    else:
        _lengthen_biases(model, tokens)
    drop_unused(model.graph)  # the runtime complains of them
    onnx.save(model, prepared)
    return Prepared(prepared, model, tokens)


def _simplify(source: Path, destination: Path) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(destination)
    key = "session.optimized_model_external_initializers"
    options.add_session_config_entry(f"{key}_file_name", f"{destination.name}.data")
    options.add_session_config_entry(f"{key}_min_size_in_bytes", str(SMALL_BYTES))
    onnxruntime.InferenceSession(
        str(source),
        options,
        providers=["CPUExecutionProvider"],
        # It wraps each product in Reshape nodes, between which nothing is fused in 8 bits.
        disabled_optimizers=["MatMulAddFusion"],
    )


def _tidy(graph: onnx.GraphProto, tokens: Tokens) -> None:
    """Every node has a name; weights have no second declaration, which a split would belie."""
    weights = {tensor.name for tensor in graph.initializer}
    kept = [value for value in graph.value_info if value.name not in weights]
    del graph.value_info[:]
    graph.value_info.extend(kept)
    renamed(graph, tokens.token)
    for node in every_node(graph):
        node.name = tokens.fresh(node.name or node.op_type)


def drop_unused(graph: onnx.GraphProto) -> None:
    """Weights that nobody reads any more, and the second of two that were written twice."""
    used = {name for node in every_node(graph) for name in node.input}
    used |= {value.name for value in graph.output}
    kept = {tensor.name: tensor for tensor in graph.initializer if tensor.name in used}
    tensors = list(kept.values())
    if len(tensors) < len(graph.initializer):
        del graph.initializer[:]
        graph.initializer.extend(tensors)


def _lengthen_biases(model: onnx.ModelProto, tokens: Tokens) -> None:
    """A bias that is added to a product of more than two dimensions gets as many.

    Of a vector and a product the runtime makes Gemm and two Reshape when it loads the file, and
    finds no form in 8 bits for that: it runs three times as long as in float32."""
    import onnx

    ranks = {
        value.name: len(value.type.tensor_type.shape.dim)
        for value in onnx.shape_inference.infer_shapes(model).graph.value_info
        if value.type.tensor_type.HasField("shape")
    }
    vectors = {each.name: each for each in model.graph.initializer if len(each.dims) == 1}
    products = {node.output[0] for node in model.graph.node if node.op_type == "MatMul"}
    for node in model.graph.node:
        product = next((name for name in node.input if name in products), "")
        if node.op_type != "Add" or ranks.get(product, 0) < 3:
            continue
        for at, name in enumerate(node.input):
            if name in vectors:
                longer = model.graph.initializer.add()
                longer.CopyFrom(vectors[name])
                longer.name = tokens.fresh(tokens.name(name))
                longer.dims[:] = [1] * (ranks[product] - 1) + list(vectors[name].dims)
                node.input[at] = longer.name


class _Split:
    """Gemm as MatMul and Add. The runtime's own way is wrong for a weight that two nodes share."""

    def __init__(self, model: onnx.ModelProto, tokens: Tokens, directory: Path) -> None:
        self._top = model.graph
        self._tokens = tokens
        self._directory = directory
        self._weights = {tensor.name: tensor for tensor in model.graph.initializer}
        self._turned: dict[str, str] = {}

    def graph(self, graph: onnx.GraphProto) -> None:
        nodes = [new for node in graph.node for new in self._node(node)]
        del graph.node[:]
        graph.node.extend(nodes)

    def _node(self, node: onnx.NodeProto) -> Iterator[onnx.NodeProto]:
        import onnx

        for body in bodies(node):
            self.graph(body)
        options = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        plain = all(options.get(name, 1.0) == 1.0 for name in ("alpha", "beta"))
        weight = node.input[1] if node.op_type == "Gemm" else ""
        if weight not in self._weights or not plain or options.get("transA"):
            yield node
            return
        turned = self._turn(weight) if options.get("transB") else weight
        biased = len(node.input) > 2
        result = self._of(node.output[0], "MatMul") if biased else node.output[0]
        inputs = [node.input[0], turned]
        yield onnx.helper.make_node("MatMul", inputs, [result], name=node.name)
        if biased:
            name = self._of(node.name, "bias")
            yield onnx.helper.make_node("Add", [result, node.input[2]], node.output, name=name)

    def _of(self, token: str, suffix: str) -> str:
        return self._tokens.fresh(f"{self._tokens.name(token)}_{suffix}")

    def _turn(self, weight: str) -> str:
        import onnx

        if weight not in self._turned:
            name = self._of(weight, "transposed")
            array = onnx.numpy_helper.to_array(self._weights[weight], str(self._directory))
            self._top.initializer.append(onnx.numpy_helper.from_array(array.T.copy(), name))
            self._turned[weight] = name
        return self._turned[weight]
