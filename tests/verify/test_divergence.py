"""The first node that goes wrong is named, with the user's line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from onnx import helper
from torch import nn

from onnxpert import targets
from onnxpert.core.types import Captured, GraphInput, InputKind, Lowered, Verified
from onnxpert.verify import divergence, localise, verify

ORT = targets.find("ort-cpu")


class Net(nn.Module):
    """Three steps, the weight of the first large enough to be left in the file by the reader."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(20, 20)
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls.add_(1)
        return torch.tanh(self.linear(x)).relu_() * 2


@pytest.fixture
def net() -> Net:
    torch.manual_seed(0)
    return Net().eval()


def captured_from(net: Net, x: torch.Tensor) -> Captured:
    program = torch.export.export(net, (x,), dynamic_shapes={"x": {0: torch.export.Dim("batch")}})
    signature = program.graph_signature
    inputs = []
    for node in program.graph.find_nodes(op="placeholder"):
        if node.name in signature.user_inputs:
            inputs.append(GraphInput(InputKind.USER, "x"))
        elif node.name in signature.inputs_to_parameters:
            name = signature.inputs_to_parameters[node.name]
            inputs.append(GraphInput(InputKind.PARAMETER, name, net.get_parameter(name)))
        else:
            name = signature.inputs_to_buffers[node.name]
            inputs.append(GraphInput(InputKind.BUFFER, name, net.get_buffer(name)))
    return Captured(program.graph_module, tuple(inputs), "test")


@pytest.fixture
def make(net: Net, write: Any) -> Any:
    """A file of the net in which the second step is whatever operator is given."""

    def build(second: str, **attributes: Any) -> tuple[Path, Lowered]:
        nodes = [
            helper.make_node("Gemm", ["x", "w", "b"], ["lin"], "gemm", transB=1),
            helper.make_node(second, ["lin"], ["act"], "second", **attributes),
            helper.make_node("Relu", ["act"], ["pos"], "third"),
            helper.make_node("Mul", ["pos", "two"], ["y"], "fourth"),
        ]
        for node in nodes:
            node.metadata_props.add(key="onnxpert.source", value=f"/src/net.py:{len(node.name)}")
            node.metadata_props.add(key="onnxpert.module", value="body")
        shape = (torch.float32, ["batch", 20])
        weights = {"w": net.linear.weight, "b": net.linear.bias, "two": torch.tensor(2.0)}
        path = write(nodes, {"x": shape}, {"y": shape}, weights=weights)
        origins = {"lin": "linear", "act": "tanh", "pos": "relu_", "gone": "mul", "y": "mul"}
        model = ir.load(path)
        return path, Lowered(model, 20, origins=origins)

    return build


def run(net: Net, load: Any, path: Path, lowered: Lowered) -> tuple[Verified, Any]:
    loaded = load(net, x=torch.randn(2, 20))
    verified = verify(loaded, path, ORT)
    captured = captured_from(net, loaded.args[0])
    found = localise(verified, loaded, captured=captured, lowered=lowered, path=path, target=ORT)
    return verified, found


def test_the_first_wrong_node_is_found(net: Net, load: Any, make: Any, tmp_path: Path) -> None:
    path, lowered = make("Sigmoid")
    before = sorted(tmp_path.iterdir())
    verified, found = run(net, load, path, lowered)
    assert not verified.proven
    assert (found.node, found.op_type, found.value) == ("second", "Sigmoid", "act")
    assert (found.location.file, found.location.line) == ("/src/net.py", len("second"))
    assert found.location.module == "body"
    assert "too far off" in found.detail
    assert sorted(tmp_path.iterdir()) == before
    assert net.calls == 0


def test_a_dtype_is_a_divergence_too(net: Net, load: Any, make: Any) -> None:
    path, lowered = make("Cast", to=onnx.TensorProto.DOUBLE)
    captured = captured_from(net, torch.randn(2, 20))
    x = torch.randn(2, 20)
    values = divergence.intermediates(captured, lowered, {"x": x})
    model = onnx.load(path)
    model.graph.node[-1].input[1] = "act"  # so that the file is valid in float64
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    onnx.save(model, path)
    found = divergence.localise(values, path, ORT, {"x": x.numpy()})
    assert found is not None
    assert found.value == "act"
    assert found.detail == "the model gives float32, the file float64"


def test_a_right_file_has_no_divergence(net: Net, load: Any, make: Any) -> None:
    path, lowered = make("Tanh")
    verified, found = run(net, load, path, lowered)
    assert verified.proven
    assert found is None
    x = torch.randn(5, 20)
    captured = captured_from(net, torch.randn(2, 20))
    values = list(divergence.intermediates(captured, lowered, {"x": x}))
    # The value of `tanh` as it was before `relu_` wrote into it.
    assert [name for name, _ in values] == ["lin", "act", "pos", "y"]
    assert torch.allclose(values[1][1], torch.tanh(net.linear(x)))
    assert divergence.localise(iter(values), path, ORT, {"x": x.numpy()}) is None


def test_a_file_that_stops_in_the_middle_has_no_divergence(net: Net, load: Any, make: Any) -> None:
    path, lowered = make("Tanh")
    model = onnx.load(path)
    model.graph.initializer[2].CopyFrom(
        onnx.numpy_helper.from_array(np.ones((7, 20), np.float32), "two")
    )
    onnx.save(model, path)
    verified, found = run(net, load, path, lowered)
    assert "Mul" in verified.rows[0].detail
    assert found is None


def test_a_graph_that_does_not_take_the_size_is_followed_as_far_as_it_goes(
    net: Net, make: Any
) -> None:
    _, lowered = make("Tanh")
    captured = captured_from(net, torch.randn(2, 20))
    graph = captured.root.graph
    (tanh,) = (node for node in graph.nodes if node.name == "tanh")
    with graph.inserting_after(tanh):
        tanh.replace_all_uses_with(graph.call_function(torch.reshape, (tanh, (3, 3))))
    names = [n for n, _ in divergence.intermediates(captured, lowered, {"x": torch.ones(4, 20)})]
    assert names == ["lin", "act"]


def test_many_values_are_compared_a_batch_at_a_time(
    net: Net, load: Any, make: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(divergence, "MOST_BYTES", 1)
    path, lowered = make("Sigmoid")
    assert run(net, load, path, lowered)[1].node == "second"


@pytest.mark.parametrize(
    ("places", "second", "is_rounding"),
    [
        ([4, 2, 0], 4.0, True),  # two that are equal but for the last digit
        ([4, 0, 2], 4.0, False),  # two that are not
        ([2, 4, 7], 4.0, True),  # and behind the last may be an equal one
        ([7, 4, 0], 4.0, False),
        ([4, 2, 0], 3.5, False),  # the scores themselves are wrong
    ],
)
def test_an_order_that_rounding_decides_is_told_from_a_wrong_one(
    places: list[int], second: float, is_rounding: bool
) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["scores", "places"], axis=1)
    tied = torch.tensor([[4.0, 4.0 - 4e-7, 1.0]])
    batch = [("scores", tied), ("places", torch.tensor([[2, 4, 0]]))]
    answers: Any = {
        "scores": np.array([[4.0, second, 1.0]], np.float32),
        "places": np.array([places]),
    }
    assert divergence._is_by_rounding(node, batch, answers) is is_rounding


@pytest.mark.parametrize(("apart", "is_rounding"), [(4e-6, True), (1e-3, False)])
def test_scores_that_trade_their_values_are_as_far_off_as_they_are_apart(
    apart: float, is_rounding: bool
) -> None:
    node = helper.make_node("TopK", ["x", "k"], ["scores", "places"], axis=1)
    scores = torch.tensor([[4.0, 4.0 - apart, 1.0]])
    batch = [("scores", scores), ("places", torch.tensor([[2, 4, 0]]))]
    answers: Any = {"scores": scores.numpy(), "places": np.array([[4, 2, 0]])}
    assert divergence._is_by_rounding(node, batch, answers) is is_rounding
