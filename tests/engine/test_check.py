"""`check`: files from anywhere, against a target."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

import onnxpert
from onnxpert import targets
from onnxpert.core.errors import UsageError


def save(
    path: Path,
    *nodes: onnx.NodeProto,
    shape: Any = ("n", 3),
    result: Any = ("m", 3),
    **versions: int,
) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, result)
    graph = helper.make_graph(list(nodes), "main", [x], [y])
    opset = helper.make_opsetid("", versions.get("opset", 20))
    onnx.save(
        helper.make_model(graph, opset_imports=[opset], ir_version=versions.get("ir_version", 10)),
        path / "model.onnx",
    )
    return path / "model.onnx"


def node(op_type: str, *inputs: str, **attributes: Any) -> onnx.NodeProto:
    return helper.make_node(op_type, inputs or ("x",), ["y"], name=f"the {op_type}", **attributes)


def said(report: onnxpert.Report) -> list[str]:
    return [finding.rule for finding in report.findings]


@pytest.mark.parametrize("name", ["ort-cpu", "ort-web", "openvino", "onnx-reference"])
def test_a_file_that_fits_and_runs(name: str, tmp_path: Path) -> None:
    if reason := targets.find(name).absent():
        pytest.skip(reason)
    report = onnxpert.check(save(tmp_path, node("Relu")), name)
    assert report.ok
    assert report.findings == ()
    assert str(report).startswith(f"fits {name} and runs there: ")
    assert report.inputs == ("x: float32[n, 3]",)


def test_a_missing_operator_by_the_name_of_its_node(tmp_path: Path) -> None:
    path = save(tmp_path, node("Det"), shape=("n", 3, 3), result=("n",))
    report = onnxpert.check(path, "openvino")
    assert not report.ok
    (finding,) = report.findings
    assert finding.rule == "TGT803"
    assert "node the Det" in finding.notes
    assert "does not fit openvino" in str(report)


def test_the_tables_alone(tmp_path: Path) -> None:
    path = save(tmp_path, node("BitwiseNot"))
    report = onnxpert.check(path, "tensorrt", run=False)
    assert "TGT803" in said(report)
    assert "run" not in report.timings


def test_a_file_that_is_too_new(tmp_path: Path) -> None:
    path = save(tmp_path, node("Relu"), shape=(2, 3), opset=25)
    report = onnxpert.check(path, "tensorrt")
    assert said(report) == ["TGT821"]
    assert "takes up to 24" in report.findings[0].message
    newer = onnxpert.check(save(tmp_path, node("Relu"), ir_version=99))
    assert "TGT821" in said(newer)


def test_a_file_that_the_standard_rejects(tmp_path: Path) -> None:
    report = onnxpert.check(save(tmp_path, node("Relu", "nowhere")))
    assert {"TGT822", "TGT801"} == set(said(report))


def test_what_the_standard_rejects_and_the_runtime_runs_is_a_warning(tmp_path: Path) -> None:
    path = save(tmp_path, node("Relu"))
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.ClearField("shape")
    onnx.save(model, path)
    report = onnxpert.check(path)
    assert report.ok
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("TGT822", onnxpert.Severity.WARNING)
    assert not onnxpert.check(path, "onnx").ok


@pytest.mark.parametrize("content", [b"", b"hello, I am no such file at all", b"\x00" * 40])
def test_what_is_no_file_of_onnx(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    path.write_bytes(content)
    report = onnxpert.check(path)
    assert said(report) == ["TGT822"]
    assert report.findings[0].message.startswith("this is no ONNX file")


def test_a_file_that_breaks_off(tmp_path: Path) -> None:
    path = save(tmp_path, node("Relu"))
    path.write_bytes(path.read_bytes()[:1])
    (finding,) = onnxpert.check(path).findings
    assert "ends in the middle" in finding.message


def test_a_graph_that_cannot_be_one(tmp_path: Path) -> None:
    """Two nodes that give one value."""
    report = onnxpert.check(save(tmp_path, node("Relu"), node("Abs")))
    assert said(report) == ["TGT822"]
    assert "SSA" in report.findings[0].message


@pytest.mark.parametrize("name", ["ort-cuda", "tensorrt", "onnx"])
def test_what_a_stand_in_lacks_is_not_held_against_the_target(name: str, tmp_path: Path) -> None:
    x, y = (helper.make_tensor_value_info(each, TensorProto.BFLOAT16, [2]) for each in "xy")
    graph = helper.make_graph([node("Mul", "x", "x")], "main", [x], [y])
    opset = [helper.make_opsetid("", 20)]
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    report = onnxpert.check(path, name)
    if not targets.find(name).absent():
        pytest.skip("it runs here")
    assert report.ok, report
    (finding,) = report.findings
    assert finding.rule == "TGT810"
    assert "by its tables alone, for ort-cpu has no kernel for Mul in bfloat16" in finding.message


def test_a_refusal_of_a_stand_in_counts_where_it_is_the_same_runtime(tmp_path: Path) -> None:
    twice = [helper.make_node("Relu", ["x"], ["a"], name="n"), node("Relu", "a")]
    twice[1].name = "n"  # ONNX Runtime wants names of nodes to differ; the standard does not say so
    path = save(tmp_path, *twice, result=("n", 3))
    report = onnxpert.check(path, "ort-mobile")
    refused = next(each for each in report.findings if each.rule == "TGT801")
    assert refused.message.startswith("ort-cpu, which stands in, refuses the file: ")
    report = onnxpert.check(path, "onnx")
    assert report.ok
    assert "by its tables alone, for ort-cpu refuses it: " in report.findings[0].message


def test_sequences_and_trees(tmp_path: Path) -> None:
    made = helper.make_node("SequenceConstruct", ["x", "x"], ["s"])
    first = helper.make_node("Constant", [], ["i"], value_int=0)
    path = save(tmp_path, made, first, node("SequenceAt", "s", "i"), result=("n", 3))
    assert onnxpert.check(path, "ort-cpu").ok
    scaled = helper.make_node(
        "Scaler", ["x"], ["y"], domain="ai.onnx.ml", scale=[2.0] * 3, offset=[0.0] * 3
    )
    model = onnx.load(save(tmp_path, scaled))
    model.opset_import.append(helper.make_opsetid("ai.onnx.ml", 3))
    onnx.save(model, path)
    assert onnxpert.check(path, "ort-cpu").ok
    assert said(onnxpert.check(path, "tensorrt", run=False))[0] == "TGT803"
    assert "TGT809" in said(onnxpert.check(path, "ort-cuda", run=False))


def test_the_layout_of_a_recurrent_layer(tmp_path: Path) -> None:
    path = save(tmp_path, node("GRU", "x", "w", "r", hidden_size=4, layout=1), result=None)
    assert "TGT805" in said(onnxpert.check(path, "ort-mobile", run=False))


def test_an_old_file_is_not_sent_off_the_device(tmp_path: Path) -> None:
    """The table of CUDA's kernels goes back to opset 13."""
    report = onnxpert.check(save(tmp_path, node("Relu"), opset=9, ir_version=4), "ort-cuda")
    assert "TGT809" not in said(report)


def test_a_file_that_runs_with_no_inputs_we_can_make_up(tmp_path: Path) -> None:
    shape = numpy_helper.from_array(np.array([7, 11]), "shape")
    constant = helper.make_node("Constant", [], ["s"], value=shape)
    path = save(tmp_path, constant, node("Reshape", "x", "s"), result=(7, 11))
    report = onnxpert.check(path)
    assert report.ok
    assert said(report) == ["TGT823"]
    assert "and runs there" not in str(report)


def test_sizes_are_tried_until_one_runs(tmp_path: Path) -> None:
    shape = numpy_helper.from_array(np.array([-1, 4]), "shape")
    constant = helper.make_node("Constant", [], ["s"], value=shape)
    path = save(tmp_path, constant, node("Reshape", "x", "s"), result=("m", 4))
    assert onnxpert.check(path).findings == ()


def test_what_only_the_runtime_knows(tmp_path: Path) -> None:
    if reason := targets.find("openvino").absent():
        pytest.skip(reason)
    bad = node("MatMulNBits", "x", "x", "x", K=3, N=3, bits=4, block_size=16)
    bad.domain = "com.microsoft"
    path = save(tmp_path, bad)
    model = onnx.load(path)
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    onnx.save(model, path)
    report = onnxpert.check(path, "openvino")
    assert said(report) == ["TGT801"]


def test_the_line_that_our_own_files_name(tmp_path: Path) -> None:
    class Determinants(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.linalg.det(x)

    path = tmp_path / "det.onnx"
    onnxpert.export(Determinants().eval(), (torch.randn(2, 3, 3),), path)
    (finding,) = onnxpert.check(path, "openvino").findings
    assert finding.location is not None
    assert Path(finding.location.file).name == "test_check.py"
    assert finding.location.code == "return torch.linalg.det(x)"


def test_weights_beside_a_file_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    model = torch.nn.Linear(64, 64).eval()
    onnxpert.export(model, (torch.randn(2, 64),), path, external_data=True)
    assert onnxpert.check(path).ok


def test_a_report_of_a_check_is_rendered_in_every_format(tmp_path: Path) -> None:
    path = save(tmp_path, node("Det"), shape=("n", 3, 3), result=("n",))
    report = onnxpert.check(path, "openvino")
    for name in ("json", "sarif", "junit", "markdown", "html", "github", "text"):
        assert "TGT803" in report.render(name)
    assert onnxpert.Report.from_json(report.to_json()).findings == report.findings


def test_misuse(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no file"):
        onnxpert.check(tmp_path / "nothing.onnx")
    with pytest.raises(UsageError, match="there is no target"):
        onnxpert.check(save(tmp_path, node("Relu")), "toaster")


def _scatter(dtype: int, path: Path) -> Path:
    ends = [
        helper.make_tensor_value_info(name, kind, [2, 3])
        for name, kind in (("x", dtype), ("i", TensorProto.INT64), ("u", dtype), ("y", dtype))
    ]
    nodes = [node("ScatterElements", "x", "i", "u", reduction="add")]
    graph = helper.make_graph(nodes, "main", ends[:3], ends[3:])
    opset = helper.make_opsetid("", 18)
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path / "model.onnx")
    return path / "model.onnx"


def test_a_kernel_that_is_in_the_table_and_raises(tmp_path: Path) -> None:
    assert onnxpert.check(_scatter(TensorProto.FLOAT, tmp_path), "ort-cpu").ok
    report = onnxpert.check(_scatter(TensorProto.FLOAT16, tmp_path), "ort-cpu")
    (finding,) = (each for each in report.findings if each.blocks)
    said = "ort-cpu has no kernel for ScatterElements in float16, with a reduction"
    assert (finding.rule, finding.message) == ("TGT804", said)


def test_a_product_that_the_runtime_crashes_on_is_not_run(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT16, [2, 6, 8])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT16, [6, 2, 3])
    weight = numpy_helper.from_array(np.ones((8, 3), np.float16), "w")
    turned = helper.make_node("Transpose", ["x"], ["t"], perm=[1, 0, 2])
    graph = helper.make_graph([turned, node("MatMul", "t", "w")], "main", [x], [y], [weight])
    opset = helper.make_opsetid("", 18)
    path = tmp_path / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[opset], ir_version=9), path)
    report = onnxpert.check(path, "ort-cpu")
    assert [finding.rule for finding in report.findings if finding.blocks] == ["TGT805"]
    assert onnxpert.check(path, "openvino", run=False).ok
