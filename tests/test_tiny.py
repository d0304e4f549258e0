"""The whole product in seconds: a model is exported, repaired, proven, refused and explained."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
import torch
from torch import nn

import onnxpert


class UnitNorm(nn.Module):
    def __init__(self, dim: int) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x / torch.norm(x, dim=self.dim, keepdim=True)


def network() -> nn.Module:
    return nn.Sequential(nn.Linear(10, 5), UnitNorm(1), nn.ReLU()).eval()


@pytest.mark.parametrize("opset", [None, 14])
def test_a_custom_layer_is_exported_and_proven(tmp_path: Path, opset: int | None) -> None:
    path = tmp_path / "net.onnx"
    report = onnxpert.export(
        network(),
        (torch.randn(2, 10),),
        path,
        opset_version=opset,
        dynamic_shapes=({0: "batch"},),
    )
    assert report.ok
    assert report.path == path
    assert not report.findings
    assert {row.sizes["batch"] for row in report.verified} >= {1, 2}
    made = onnx.load(path)
    assert opset in (None, made.opset_import[0].version)
    assert made.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    assert any("test_tiny.py" in prop.value for n in made.graph.node for prop in n.metadata_props)


def test_a_half_precision_input_is_cast_and_said_so(tmp_path: Path) -> None:
    path = tmp_path / "net.onnx"
    report = onnxpert.export(nn.Linear(10, 5), (torch.randn(2, 10).half(),), path)
    (finding,) = report.findings
    assert finding.rule == "INP110"
    assert finding.repaired
    assert "float16" in finding.message
    assert "float32" in finding.message
    assert report.inputs == ("input: float16[2, 10]",)


def test_state_is_refused_and_leaves_no_file(tmp_path: Path) -> None:
    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("calls", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.calls += 1
            return x * self.calls

    model = Counter().eval()
    with pytest.raises(onnxpert.ExportError, match="STA301") as caught:
        onnxpert.export(model, (torch.randn(3),), tmp_path / "net.onnx")
    (finding,) = [f for f in caught.value.report.findings if f.rule == "STA301"]
    assert finding.location is not None
    assert finding.location.file == __file__
    assert "self.calls += 1" in finding.location.code
    assert not list(tmp_path.iterdir())
    assert model.calls.item() == 0


def test_a_branch_on_a_dynamic_size_is_never_frozen_in_silence(tmp_path: Path) -> None:
    class Branches(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            if x.shape[0] > 2:
                return x * 100
            return (x * 2).int()  # which no If of a file can do

    with pytest.raises(onnxpert.ExportError) as caught:
        onnxpert.export(
            Branches(), (torch.randn(4, 3),), tmp_path / "m.onnx", dynamic_shapes=({0: "batch"},)
        )
    (finding,) = [f for f in caught.value.report.findings if f.rule == "SHP202"]
    assert finding.location is not None
    assert "x.shape[0] > 2" in finding.location.code
    assert not list(tmp_path.iterdir())


def test_diagnose_never_raises_and_writes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    report = onnxpert.diagnose(nn.Linear(4, 2), (torch.randn(3, 5),))
    assert not report.ok
    assert [finding.rule for finding in report.findings] == ["INP119"]
    assert not list(tmp_path.iterdir())
    assert onnxpert.Report.from_json(report.to_json()) == report
