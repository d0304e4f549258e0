"""The graph that travels in the report: what is in the file, where it comes from, what is bad."""

import json
from pathlib import Path
from typing import Any

import onnx
import onnx_ir as ir
import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.core.types import Finding, Location, Severity
from onnxpert.engine.picture import drawn, marked, read
from onnxpert.report.graph import Graph, GraphNode, NodeKind


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + torch.relu(self.fc(x))


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.blocks = nn.ModuleList([Block(), Block()])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return x


class Spectral(Net):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = super().forward(x)
        return torch.linalg.eigvals(x).real


def _graph(model: nn.Module, args: tuple[Any, ...], **options: Any) -> tuple[Any, Graph]:
    report = onnxpert.diagnose(model.eval(), args, **options)
    assert report.graph is not None
    return report, report.graph


def test_nodes_have_modules_lines_types_and_weights() -> None:
    report, graph = _graph(Net(), (torch.randn(2, 4),), dynamic_shapes=({0: "batch"},))
    assert report.ok
    assert graph.nodes[0].kind is NodeKind.INPUT
    assert graph.nodes[0].types == ("float32[batch, 4]",)
    assert graph.nodes[-1].kind is NodeKind.OUTPUT
    assert sum(node.op != "" for node in graph.nodes) == report.nodes
    linear = next(node for node in graph.nodes if node.op in ("Gemm", "MatMul"))
    assert linear.module == "blocks.0.fc"
    assert any(weight.startswith("blocks.0.fc.weight: float32[4, 4]") for weight in linear.weights)
    relu = next(node for node in graph.nodes if node.op == "Relu")
    assert relu.module == "blocks.0"
    assert relu.types == ("float32[batch, 4]",)
    assert relu.place is not None
    place = graph.places[relu.place]
    assert Path(place.file) == Path(__file__)
    assert place.code == "return x + torch.relu(self.fc(x))"
    for at, node in enumerate(graph.nodes):
        assert all(source < at for source in node.inputs)


def test_what_has_no_lowering_is_marked_with_its_finding() -> None:
    report, graph = _graph(Spectral(), (torch.randn(4, 4),))
    (missing,) = (node for node in graph.nodes if node.kind is NodeKind.MISSING)
    (index,) = missing.findings
    assert report.findings[index].rule == "OPS501"
    assert [node for node in graph.nodes if node.findings] == [missing]


def test_the_json_has_it_on_request_only() -> None:
    report, graph = _graph(Net(), (torch.randn(2, 4),))
    assert json.loads(report.to_json())["graph"] is None
    assert onnxpert.Report.from_json(report.to_json(graph=True)).graph == graph


def test_the_report_stands_alone() -> None:
    report, _ = _graph(Spectral(), (torch.randn(4, 4),))
    finding = next(finding for finding in report.findings if finding.rule == "OPS501")
    assert "OPS501" in [note.id for note in report.rules]
    assert "OPS501" in report.checked
    (excerpt,) = (each for each in report.excerpts if each.file == finding.location.file)
    assert excerpt.lines[finding.location.line - excerpt.first].strip() == finding.location.code
    assert "    |        ^^^" in str(report) or "   |        ^^^" in str(report)


def test_bodies_are_drawn_inside_their_node() -> None:
    text = """
        <ir_version: 8, opset_import: ["": 17]>
        f (bool cond, float[2] x) => (float[2] y) {
          z = Neg (x)
          y = If (cond) <
            then_branch = a () => (float[2] u) { u = Abs (z) },
            else_branch = b () => (float[2] v) { v = Sqrt (z) }
          >
        }
    """
    graph = drawn(ir.serde.deserialize_model(onnx.parser.parse_model(text)))
    by_op = {node.op or node.name: at for at, node in enumerate(graph.nodes)}
    assert graph.nodes[by_op["Abs"]].body.endswith("then_branch")
    assert graph.nodes[by_op["Abs"]].inputs == (by_op["Neg"],)
    assert set(graph.nodes[by_op["If"]].inputs) == {by_op["cond"], by_op["Abs"], by_op["Sqrt"]}


@pytest.mark.parametrize(("modules", "nodes"), [((), [0, 1]), (("a",), [0]), (("nowhere",), [])])
def test_a_finding_is_about_the_nodes_of_its_line(
    modules: tuple[str, ...], nodes: list[int]
) -> None:
    graph = Graph(
        (
            GraphNode(NodeKind.OPERATOR, "Add", "one", module="a", place=0),
            GraphNode(NodeKind.OPERATOR, "Add", "two", module="b", place=0),
            GraphNode(NodeKind.OPERATOR, "Add", "three", module="a", place=1),
        ),
        (Location("m.py", 3), Location("m.py", 4)),
    )
    finding = Finding("X", Severity.WARNING, "no", Location("m.py", 3), modules=modules)
    info = Finding("Y", Severity.INFO, "by the way", Location("m.py", 4))
    found = marked(graph, [info, finding], None).nodes
    assert [at for at, node in enumerate(found) if node.findings] == nodes
    assert all(node.findings in ((), (1,)) for node in found)


@pytest.mark.parametrize(
    ("notes", "name", "module"),
    [
        (
            {"pkg.torch.onnx.name_scopes": "['', 'layers.0', 'layers.0.fc', 'linear']"},
            "",
            "layers.0.fc",
        ),
        ({"pkg.torch.onnx.name_scopes": "['', 'relu']"}, "", ""),
        ({}, "/encoder/layers.0/fc/MatMul", "encoder.layers.0.fc"),
        ({}, "MatMul_3", ""),
    ],
)
def test_modules_of_other_exporters(notes: dict[str, str], name: str, module: str) -> None:
    x, y = ir.Value(name="x"), ir.Value(name="y")
    node = ir.Node("", "Relu", [x], outputs=[y], name=name, metadata_props=notes)
    model = ir.Model(ir.Graph([x], [y], nodes=[node], opset_imports={"": 17}), ir_version=8)
    assert drawn(model).nodes[1].module == module


def test_a_verified_file_is_drawn(tmp_path: Path) -> None:
    model, args = Net().eval(), (torch.randn(2, 4),)
    onnxpert.export(model, args, tmp_path / "net.onnx", verify=False)
    report = onnxpert.verify(tmp_path / "net.onnx", model, args)
    assert report.ok
    assert report.graph is not None
    assert "blocks.0.fc" in {node.module for node in report.graph.nodes}
    assert read(Path(__file__)) is None
