"""The walk of a model: what is asked for is what comes out, or is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import nn

import onnxpert
from onnxpert.core.errors import UsageError


def rules(report: onnxpert.Report) -> list[str]:
    return [finding.rule for finding in report.findings]


def dims(path: Path, index: int = 0) -> list[int | str]:
    shape = onnx.load(path).graph.input[index].type.tensor_type.shape
    return [dim.dim_param or dim.dim_value for dim in shape.dim]


def run(path: Path, **feeds: torch.Tensor) -> list[Any]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    return list(session.run(None, {name: value.numpy() for name, value in feeds.items()}))


# ---- the classic questions -----------------------------------------------------------------


def test_a_convolution_with_dynamic_height_and_width(tmp_path: Path) -> None:
    model, path = nn.Conv2d(3, 16, 3).eval(), tmp_path / "conv.onnx"
    report = onnxpert.export(
        model,
        (torch.randn(1, 3, 8, 8),),
        path,
        input_names=["image"],
        output_names=["features"],
        dynamic_axes={"image": {2: "height", 3: "width"}, "features": {2: "h", 3: "w"}},
    )
    assert report.ok
    assert dims(path) == [1, 3, "height", "width"]
    for size in ((3, 3), (5, 17), (40, 8)):
        image = torch.randn(1, 3, *size)
        (got,) = run(path, image=image)
        with torch.no_grad():
            np.testing.assert_allclose(got, model(image).numpy(), rtol=1e-4, atol=1e-5)


def test_an_image_smaller_than_the_kernel_is_told_the_smallest_that_works() -> None:
    class Features(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(3, 16, 3)

        def forward(self, image: torch.Tensor) -> torch.Tensor:
            return self.conv(image)

    report = onnxpert.diagnose(
        Features().eval(),
        (torch.randn(1, 3, 1, 1),),
        dynamic_axes={"image": {2: "height", 3: "width"}},
    )
    (finding,) = [each for each in report.findings if each.blocks]
    assert finding.rule == "INP111"
    assert "1 x 3 x 1 x 1" in finding.message
    assert "kernel of 3 x 3" in finding.message
    assert "1 x 3 x 3 x 3" in finding.message
    assert finding.location is not None
    assert finding.location.code == "return self.conv(image)"
    assert finding.location.file == __file__


def test_an_axis_for_an_input_that_is_not_there_lists_those_that_are() -> None:
    report = onnxpert.diagnose(
        nn.Conv2d(3, 16, 3).eval(),
        (torch.randn(1, 3, 8, 8),),
        dynamic_axes={"imgae": {2: "height"}},
    )
    (finding,) = [each for each in report.findings if each.severity == "error"]
    assert finding.rule == "INP101"
    assert "imgae" in finding.message
    assert "`input`" in finding.help


def test_a_cast_is_refused_when_repair_is_off() -> None:
    report = onnxpert.diagnose(
        nn.Linear(10, 5), (torch.randn(2, 10, dtype=torch.float16),), repair="off"
    )
    (finding,) = report.findings
    assert (finding.rule, finding.repaired) == ("INP110", False)
    assert not report.ok


# ---- dynamic dimensions --------------------------------------------------------------------


class SizeBranch(nn.Module):
    """Of the branch an exporter sees nothing but that its condition holds."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if torch.compiler.is_exporting():
            torch._check(x.shape[0] > 2)  # type: ignore[no-untyped-call]
            return x * 100
        return x * 100 if x.shape[0] > 2 else x * 2


def test_auto_keeps_a_dimension_within_what_the_model_assumes_of_it(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = onnxpert.export(SizeBranch(), (torch.randn(4, 3),), path, dynamic_shapes="auto")
    assert dims(path) == ["batch", "sequence"]
    metadata = {entry.key: entry.value for entry in onnx.load(path).metadata_props}
    assert metadata["onnxpert.dim.batch"] == "3.."
    assert ("SHP202", True) in [(finding.rule, finding.repaired) for finding in report.findings]


def test_a_firm_wish_beyond_an_assumption_has_one_reason_and_its_line() -> None:
    shapes = ({0: "batch"},)
    report = onnxpert.diagnose(SizeBranch(), (torch.randn(4, 3),), dynamic_shapes=shapes)
    assert not report.ok
    (finding,) = [finding for finding in report.findings if finding.blocks]
    assert finding.rule == "SHP202"
    assert finding.location is not None
    assert "torch._check" in finding.location.code


class TableLimit(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Parameter(torch.randn(16, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + self.table[: x.shape[1]]


def test_a_limit_of_the_model_is_no_error_and_stands_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = onnxpert.export(
        TableLimit(), (torch.randn(2, 8, 4),), path, dynamic_shapes=({1: "sequence"},)
    )
    assert rules(report) == ["SHP203"]
    metadata = {prop.key: prop.value for prop in onnx.load(path).metadata_props}
    assert metadata["onnxpert.dim.sequence"] == "1..16"
    assert any(row.verdict == "refused" for row in report.verified)


def test_an_example_of_batch_one_freezes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    model = nn.Sequential(nn.Linear(4, 3), nn.Flatten()).eval()
    onnxpert.export(model, (torch.randn(1, 4),), path, dynamic_shapes=({0: "batch"},))
    (got,) = run(path, input=torch.ones(7, 4))
    assert got.shape == (7, 3)


def test_sizes_that_were_given_one_name_share_it(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(
        lambda x, y: (x + 1, y * 2),
        (torch.randn(3, 2), torch.randn(3, 5)),
        path,
        dynamic_shapes=({0: "rows"}, {0: "rows"}),
    )
    assert dims(path, 0)[0] == dims(path, 1)[0] == "rows"


# ---- inputs and outputs --------------------------------------------------------------------


@dataclasses.dataclass
class Batch:
    ids: torch.Tensor
    weights: list[torch.Tensor]
    label: str = "train"


class Nested(nn.Module):
    def forward(self, batch: Batch, options: Mapping[str, Any]) -> dict[str, Any]:
        total = batch.ids * options["scale"]
        for weight in batch.weights:
            total = total + weight
        return {"total": total, "nothing": None, "parts": (total.sum(), [total.mean()])}


def test_nested_inputs_and_outputs_are_flattened_and_named(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    batch = Batch(torch.randn(3), [torch.randn(3), torch.randn(3)])
    report = onnxpert.export(Nested(), (batch, {"scale": torch.tensor(2.0), "mode": None}), path)
    made = onnx.load(path).graph
    assert [value.name for value in made.input] == [
        "batch_ids", "batch_weights_0", "batch_weights_1", "options_scale",
    ]  # fmt: skip
    assert [value.name for value in made.output] == ["total", "parts_0", "parts_1_0"]
    assert report.ok


def test_an_input_that_is_written_to_stays_the_users_own(tmp_path: Path) -> None:
    class Clips(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x.clamp_(0, 1)
            return x * 2

    x = torch.randn(5)
    before = x.clone()
    report = onnxpert.export(Clips(), (x,), tmp_path / "m.onnx")
    assert torch.equal(x, before)
    assert rules(report) == ["STA304"]


def test_the_same_tensor_twice_is_two_inputs(tmp_path: Path) -> None:
    path, x = tmp_path / "m.onnx", torch.randn(3)
    onnxpert.export(lambda a, b: a - 2 * b, (x, x), path)
    (got,) = run(path, a=torch.ones(3), b=torch.zeros(3))
    assert got.tolist() == [1.0, 1.0, 1.0]


# ---- files ---------------------------------------------------------------------------------


def test_weights_beside_the_file(tmp_path: Path) -> None:
    model, path = nn.Linear(64, 64).eval(), tmp_path / "m.onnx"
    onnxpert.export(model, (torch.randn(2, 64),), path, external_data=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.onnx", "m.onnx.data"]
    x = torch.randn(2, 64)
    (got,) = run(path, input=x)
    with torch.no_grad():
        np.testing.assert_allclose(got, model(x).numpy(), rtol=1e-4, atol=1e-5)


def test_an_unproven_file_has_to_be_asked_for(tmp_path: Path) -> None:
    def noisy(x: torch.Tensor) -> torch.Tensor:
        return x + torch.randn_like(x)

    path = tmp_path / "m.onnx"
    with pytest.raises(onnxpert.ExportError, match="NUM702"):
        onnxpert.export(noisy, (torch.randn(3),), path)
    assert not path.exists()
    report = onnxpert.export(noisy, (torch.randn(3),), path, verify=False)
    assert path.exists()
    assert not report.verified


def test_a_failed_export_leaves_the_old_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    path.write_bytes(b"precious")
    with pytest.raises(onnxpert.ExportError):
        onnxpert.export(nn.Linear(4, 2), (torch.randn(3, 5),), path)
    assert path.read_bytes() == b"precious"
    assert [file.name for file in tmp_path.iterdir()] == ["m.onnx"]


def test_the_asked_opset_is_the_delivered_one_or_a_reason(tmp_path: Path) -> None:
    model, args = nn.GELU(), (torch.randn(3),)
    for opset in (13, 17, 20, 23):
        path = tmp_path / f"{opset}.onnx"
        onnxpert.export(model, args, path, opset_version=opset)
        assert onnx.load(path).opset_import[0].version == opset
    report = onnxpert.diagnose(model, args, opset_version=9)
    assert "VER601" in rules(report)


# ---- consent -------------------------------------------------------------------------------


def test_training_mode_is_changed_with_consent_only() -> None:
    model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5)).train()
    args = (torch.randn(3, 4),)
    assert rules(onnxpert.diagnose(model, args)) == ["STA303"]
    report = onnxpert.diagnose(model, args, repair="all")
    assert report.ok
    assert report.findings[0].repair == "switch-to-eval"
    assert model.training


def test_an_unknown_level_of_repair_is_misuse() -> None:
    with pytest.raises(UsageError, match="'off', 'safe', 'all'"):
        onnxpert.diagnose(nn.Linear(2, 2), (torch.randn(1, 2),), repair="some")


# ---- all reasons at once -------------------------------------------------------------------


class ManyReasons(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor, factor: float) -> torch.Tensor:
        self.calls += 1
        first = torch.linalg.eigvals(x).shape[0]
        second = torch.linalg.ldl_factor(x @ x.mT).LD
        return second * self.calls * factor + first


def test_every_reason_is_told_in_one_run() -> None:
    report = onnxpert.diagnose(ManyReasons().eval(), (torch.randn(3, 3), 0.5))
    found = {finding.rule: finding for finding in report.findings}
    assert set(found) >= {"STA301", "INP113", "OPS501"}
    for rule in ("STA301", "OPS501"):
        location = found[rule].location
        assert location is not None
        assert location.file == __file__


def test_verify_judges_a_file_from_elsewhere(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    right = nn.Linear(4, 2).eval()
    onnxpert.export(right, (torch.randn(3, 4),), path, dynamic_shapes=({0: "batch"},))
    assert onnxpert.verify(path, right, (torch.randn(3, 4),)).ok
    wrong = onnxpert.verify(path, nn.Linear(4, 2).eval(), (torch.randn(3, 4),))
    assert not wrong.ok
    assert rules(wrong) == ["NUM701"]
