"""Exports for other targets: proven there, or by a stand-in, and changed so that they fit."""

from __future__ import annotations

from pathlib import Path

import onnx
import onnx_ir as ir
import pytest
import torch

import onnxpert
from onnxpert import targets
from onnxpert.core.types import Verdict
from onnxpert.engine.behind import ends_kept

F = torch.nn.functional


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = torch.nn.Conv2d(3, 4, 3)
        self.norm = torch.nn.LayerNorm(4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        pooled = F.gelu(self.conv(x)).mean((2, 3))
        return self.norm(pooled).softmax(-1)


class Grid(torch.nn.Module):
    def forward(self, theta: torch.Tensor) -> torch.Tensor:
        return F.affine_grid(theta, [1, 1, 4, 4], align_corners=False)


class Bits(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x ^ 3


def rules(report: onnxpert.Report) -> dict[str, onnxpert.Finding]:
    return {finding.rule: finding for finding in report.findings}


@pytest.mark.parametrize("name", ["openvino", "ort-web", "onnx-reference"])
def test_the_proof_runs_on_the_target_itself(name: str, tmp_path: Path) -> None:
    if reason := targets.find(name).absent():
        pytest.skip(reason)
    torch.manual_seed(0)
    report = onnxpert.export(
        Net().eval(),
        (torch.randn(2, 3, 8, 8),),
        tmp_path / "net.onnx",
        dynamic_shapes={"x": {0: "batch"}},
        target=name,
    )
    assert (report.target, report.runtime) == (name, "")
    assert {row.verdict for row in report.verified} == {Verdict.PASS}
    assert len({row.case for row in report.verified}) > 2
    assert f"proof  {name} against Net" in str(report)


@pytest.mark.parametrize("name", ["ort-web", "openvino"])
def test_weights_beside_the_file(name: str, tmp_path: Path) -> None:
    if reason := targets.find(name).absent():
        pytest.skip(reason)
    place = tmp_path / "net.onnx"
    model = torch.nn.Linear(64, 64).eval()
    report = onnxpert.export(model, (torch.randn(2, 64),), place, external_data=True, target=name)
    assert report.ok
    assert onnx.load(place, load_external_data=False).graph.initializer[0].external_data


def test_bfloat16_in_openvino() -> None:
    if reason := targets.find("openvino").absent():
        pytest.skip(reason)
    model = torch.nn.Linear(8, 4).bfloat16().eval()
    assert onnxpert.diagnose(model, (torch.randn(2, 8).bfloat16(),), target="openvino").ok


@pytest.mark.parametrize("name", ["tensorrt", "ort-mobile", "onnx"])
def test_a_target_that_is_not_here_has_a_stand_in(name: str) -> None:
    report = onnxpert.diagnose(Net().eval(), (torch.randn(2, 3, 8, 8),), target=name)
    assert report.ok
    assert (report.target, report.runtime) == (name, "ort-cpu")
    assert "proof  ort-cpu against Net" in str(report)
    assert "TGT810" in rules(report)


def test_bfloat16_is_proven_by_the_stand_in() -> None:
    model = torch.nn.Linear(8, 4).bfloat16().eval()
    x = torch.randn(2, 8).bfloat16()
    assert onnxpert.diagnose(model, (x,), target="tensorrt").ok
    if not targets.find("ort-cuda").absent():
        pytest.skip("there is a GPU here, which proves it itself")
    report = onnxpert.diagnose(model, (x,), target="ort-cuda")
    assert report.ok
    (said,) = (finding.message for finding in report.findings if finding.rule == "TGT810")
    assert said.endswith("ort-cpu proves the file, in float32 where it has no kernel")


def test_a_missing_operator_is_written_in_an_older_opset(tmp_path: Path) -> None:
    place = tmp_path / "grid.onnx"
    report = onnxpert.export(Grid().eval(), (torch.randn(1, 2, 3),), place, target="tensorrt")
    finding = rules(report)["TGT803"]
    assert (finding.repaired, finding.repair) == (True, "write-in-lower-opset")
    assert report.opset is not None
    assert report.opset < 20
    assert "AffineGrid" not in {node.op_type for node in onnx.load(place).graph.node}


def test_an_opset_that_was_asked_for_stays(tmp_path: Path) -> None:
    args = (torch.randn(1, 2, 3),)
    report = onnxpert.diagnose(Grid().eval(), args, target="tensorrt", opset_version=20)
    finding = rules(report)["TGT803"]
    assert not report.ok
    assert not finding.repaired
    assert finding.location is not None
    assert finding.location.code == "return F.affine_grid(theta, [1, 1, 4, 4], align_corners=False)"


def test_what_no_opset_says_otherwise_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    place = tmp_path / "bits.onnx"
    with pytest.raises(onnxpert.ExportError, match="tensorrt has no operator BitwiseXor"):
        onnxpert.export(Bits().eval(), (torch.arange(5),), place, target="tensorrt")
    assert not list(tmp_path.iterdir())


def test_float64_needs_consent() -> None:
    if reason := targets.find("openvino").absent():
        pytest.skip(reason)
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 4).double().eval()
    args = (torch.randn(3, 16, dtype=torch.float64),)
    refused = onnxpert.diagnose(model, args, target="openvino")
    assert not refused.ok
    assert not rules(refused)["TGT806"].repaired
    accepted = onnxpert.diagnose(model, args, target="openvino", repair="all")
    assert accepted.ok
    assert rules(accepted)["TGT806"].repair == "accept-float32"
    assert max(row.max_abs or 0 for row in accepted.verified) > 1e-12


def test_a_form_that_gives_other_numbers_is_foreseen() -> None:
    if reason := targets.find("openvino").absent():
        pytest.skip(reason)
    model = torch.nn.Upsample(scale_factor=2, mode="bicubic").eval()
    assert onnxpert.diagnose(model, (torch.randn(1, 2, 4, 4),), target="openvino").ok

    class Smooth(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.interpolate(x, (3, 3), mode="bilinear", antialias=True)

    report = onnxpert.diagnose(Smooth().eval(), (torch.randn(1, 2, 8, 8),), target="openvino")
    assert "TGT805" in rules(report)


class Sorted(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.topk(3)[0]


class Counts(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.cumsum(0)


def test_a_missing_kernel_is_gone_around_in_a_wider_type(tmp_path: Path) -> None:
    place = tmp_path / "sorted.onnx"
    args = (torch.tensor([3, 200, 7, 250], dtype=torch.uint8),)
    report = onnxpert.export(Sorted().eval(), args, place, target="tensorrt")
    finding = rules(report)["TGT804"]
    assert (finding.repaired, finding.repair) == (True, "cast-to-wider-type")
    graph = onnx.load(place).graph
    assert graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.UINT8
    assert [node.op_type for node in graph.node].count("Cast") == 2
    assert not onnxpert.diagnose(Sorted().eval(), args, target="tensorrt", repair="off").ok


def test_a_narrower_type_needs_consent() -> None:
    args = (torch.arange(5),)
    refused = onnxpert.diagnose(Counts().eval(), args, target="tensorrt")
    assert not refused.ok
    assert not rules(refused)["TGT804"].repaired
    accepted = onnxpert.diagnose(Counts().eval(), args, target="tensorrt", repair="all")
    assert rules(accepted)["TGT804"].repair == "cast-to-narrower-type"
    assert accepted.ok


def test_half_precision_for_a_gpu_is_proven_without_one(tmp_path: Path) -> None:
    """ONNX Runtime computes bfloat16 on CUDA and not on the CPU, where the proof runs."""
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.GELU()).bfloat16().eval()
    path = tmp_path / "m.onnx"
    report = onnxpert.export(model, (torch.randn(2, 8).bfloat16(),), path, target="ort-cuda")
    assert report.ok, report
    graph = onnx.load(path).graph
    assert "Cast" not in {node.op_type for node in graph.node}
    assert graph.output[0].type.tensor_type.elem_type == onnx.TensorProto.BFLOAT16


class Blocked(torch.nn.Module):
    def forward(self, x: torch.Tensor, deep: torch.Tensor) -> tuple[torch.Tensor, ...]:
        kinds = {int(one) for one in x.flatten()}  # keyed
        ranks = (x > 0).long().cumsum(1)  # counted
        wide = x.double().cumsum(0)  # doubled
        view = deep.reshape(1, 2, 1, 2, 1, 2, 1, 2, 1, 2)  # deep
        return x * len(kinds), ranks, wide.float(), view * 2


def test_what_a_target_lacks_is_told_behind_what_stops_the_capture() -> None:
    args = (torch.randn(2, 3), torch.randn(32))
    report = onnxpert.diagnose(Blocked(), args, target="tensorrt")
    told = {
        (each.rule, each.location.code.rpartition("# ")[2])
        for each in report.findings
        if each.location is not None and each.severity is not onnxpert.Severity.INFO
    }
    assert told == {
        ("CTL405", "keyed"),
        ("TGT804", "counted"),
        ("TGT806", "doubled"),
        ("TGT805", "deep"),
    }


def test_only_what_is_made_of_an_input_is_kept_as_an_end() -> None:
    text = """<ir_version: 10, opset_import: ["" : 20]>
        f (float[2] x) => (float[2] y) <float[2] own = {1, 2}> {
            y = Abs (x)
            asked = Neg (own)
            left = Neg (y)
        }"""
    model = ir.from_onnx_text(text)
    with ends_kept(model):
        assert [each.name for each in model.graph.outputs] == ["y", "left"]
    assert [each.name for each in model.graph.outputs] == ["y"]
