"""What nothing reads is not in the file."""

from pathlib import Path

import onnx_ir as ir
import torch

import onnxpert
from onnxpert.optimise.passes import dead_code


class Triangle(torch.nn.Module):
    def forward(self, x):
        return torch.linalg.qr(x.mT @ x + torch.eye(4)).R.abs()


def test_the_constants_of_a_body_that_was_dropped(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(Triangle(), (torch.randn(5, 4),), path, dynamic_shapes=({0: "n"},))
    model = ir.load(path)
    kept = [name for name, value in model.graph.initializers.items() if not value.uses()]
    assert kept == []


def test_a_constant_that_a_body_reads_stays() -> None:
    used = ir.Value(name="used", const_value=ir.tensor([1.0], name="used"))
    unused = ir.Value(name="unused", const_value=ir.tensor([2.0], name="unused"))
    ir.Node("", "Neg", [unused], num_outputs=1)  # a reader that is in no graph
    side = ir.Node("", "Identity", [used], num_outputs=1)
    body = ir.Graph([], side.outputs, nodes=[side])
    condition = ir.Value(name="condition", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    choice = ir.Node(
        "",
        "If",
        [condition],
        [ir.AttrGraph("then_branch", body), ir.AttrGraph("else_branch", _other())],
        num_outputs=1,
    )
    graph = ir.Graph(
        [condition],
        choice.outputs,
        nodes=[choice],
        initializers=[used, unused],
        opset_imports={"": 20},
    )
    dead_code.remove(ir.Model(graph, ir_version=10))
    assert list(graph.initializers) == ["used"]


def _other() -> ir.Graph:
    node = ir.Node("", "Constant", [], [ir.AttrTensor("value", ir.tensor([0.0]))], num_outputs=1)
    return ir.Graph([], node.outputs, nodes=[node])
