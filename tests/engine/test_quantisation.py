"""Quantising on the way out: what is asked, refused, measured and told."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.cli import main
from onnxpert.core.errors import ExportError, UsageError
from onnxpert.core.types import Accuracy, Kept, Quantised, QuantisedLayer
from onnxpert.diagnose import diagnose
from onnxpert.report import Report

X = torch.linspace(-2, 2, 4 * 64).reshape(4, 64)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.body = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 64))
        self.head = nn.Linear(64, 16)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


def net() -> nn.Module:
    return Net().eval()


def quantised(report: Report) -> Quantised:
    assert report.quantised is not None
    return report.quantised


def rules(report: Report) -> set[str]:
    return {finding.rule for finding in report.findings}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"quantize": "int3"}, "is not a way to quantise"),
        ({"quantize": "int8-static", "precision": "float16"}, "precision='float16'"),
        ({"quantize": "int8-static", "randomness": "allow"}, "randomness='allow'"),
        ({"quantize": "int4-weight", "target": "onnx-reference"}, "only ONNX Runtime has"),
        ({"quantize": "int4-weight", "runtime_version": "1.16"}, "needs ONNX Runtime 1.17"),
        ({"quantize": "int8-static", "opset_version": 11}, "needs opset 13"),
        ({"quantize": "int8-static", "quantize_bound": -1.0}, "quantize_bound=-1.0"),
        ({"quantize": "int8-static", "custom_domains": {"my": "com.my"}}, "custom domains"),
        ({"quantize": "int8-static", "calibration": X}, "is a Tensor, not several inputs"),
        ({"quantize": "int8-static", "calibration": []}, "has no inputs in it"),
        ({"calibration": [X]}, "calibration= is given without quantize="),
        ({"quantize_bound": 0.1}, "quantize_bound= is given without quantize="),
        ({"quantize_exclude": ["head"]}, "quantize_exclude= is given without quantize="),
    ],
)
def test_what_does_not_go_together_is_refused_first(options: dict[str, Any], said: str) -> None:
    class Fragile(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            raise AssertionError("it was run")

    with pytest.raises(UsageError, match=said):
        onnxpert.diagnose(Fragile(), (X,), **options)


def test_layers_stay_in_float_where_that_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = onnxpert.export(net(), (X,), path, quantize="int8-dynamic", quantize_exclude=["body"])
    assert {layer.name: layer.kept for layer in quantised(report).layers} == {
        "body.0": Kept.ASKED,
        "body.2": Kept.ASKED,
        "head": None,
    }
    kinds = [node.op_type for node in onnx.load(path).graph.node]
    assert kinds.count("MatMulInteger") == 1
    assert kinds.count("MatMul") == 2


def test_one_layer_may_be_named_bare_and_with_a_star() -> None:
    for pattern in ("head", "h*", "body.2"):
        report = onnxpert.diagnose(net(), (X,), quantize="int8-static", quantize_exclude=pattern)
        assert [layer.kept for layer in quantised(report).layers].count(Kept.ASKED) == 1


def test_a_name_that_no_layer_has_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match="'haed'") as refused:
        onnxpert.diagnose(net(), (X,), quantize="int8-dynamic", quantize_exclude=["haed"])
    assert "head" in str(refused.value.help)


def outlier() -> nn.Module:
    """A layer whose weights have no digits left beside one of them, which reads zeros."""
    model = net()
    with torch.no_grad():
        model.head.weight[:, 0] = 3000.0
        model.body[2].weight[0] = 0.0
        model.body[2].bias[0] = 0.0
    return model


def test_a_layer_that_hurts_stays_by_itself(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    report = onnxpert.export(outlier(), (X,), path, quantize="int4-weight")
    told = {layer.name: layer for layer in quantised(report).layers}
    assert {name: layer.kept for name, layer in told.items()} == {
        "body.0": None,
        "body.2": None,
        "head": Kept.HURTS,
    }
    assert told["head"].own is not None
    assert told["head"].own > 0.25
    assert "QNT003" in rules(report)
    assert quantised(report).error < 0.25


def test_beyond_the_bound_there_is_no_file(tmp_path: Path) -> None:
    class Apart(Net):
        def forward(self, x: Tensor) -> Tensor:
            y = self.body(x)
            return self.head(y) - self.head(y + 0.001)

    path = tmp_path / "m.onnx"
    with pytest.raises(ExportError) as raised:
        onnxpert.export(Apart().eval(), (X,), path, quantize="int8-dynamic")
    report = raised.value.report
    (finding,) = (each for each in report.findings if each.blocks)
    assert finding.rule == "QNT001"
    assert "10.0% is allowed" in finding.message
    assert "quantize_exclude=[" in finding.help
    assert list(tmp_path.iterdir()) == []


def test_the_bound_is_the_users() -> None:
    report = onnxpert.diagnose(net(), (X,), quantize="int8-dynamic", quantize_bound=1e-5)
    assert not report.ok
    assert "QNT004" in rules(report)
    assert {layer.kept for layer in quantised(report).layers} == {Kept.HURTS}


def test_calibration_says_the_ranges(tmp_path: Path) -> None:
    given = [(X * factor,) for factor in (0.5, 1.0, 2.0)]
    wide = onnxpert.export(
        net(), (X,), tmp_path / "wide.onnx", quantize="int8-static", calibration=iter(given)
    )
    narrow = onnxpert.export(net(), (X,), tmp_path / "narrow.onnx", quantize="int8-static")
    assert quantised(wide).calibration == 3
    assert "QNT002" in rules(narrow)
    assert "QNT002" not in rules(wide)
    assert {row.case for row in quantised(wide).rows} == {
        "example", "calibration 1", "calibration 2", "calibration 3"
    }  # fmt: skip
    want = net()(X * 2).detach().numpy()
    errors = {}
    for name in ("wide", "narrow"):
        session = onnxruntime.InferenceSession(tmp_path / f"{name}.onnx")
        (got,) = session.run(None, {"x": (X * 2).numpy()})
        errors[name] = np.linalg.norm(got - want) / np.linalg.norm(want)
    assert errors["wide"] < 0.05 < errors["narrow"]  # what is beyond the range is cut off


@pytest.mark.parametrize("given", [{"x": X}, X, (X,), [X], ((X,), {}), ((), {"x": X})])
def test_a_calibration_input_is_given_as_a_call_takes_it(given: Any) -> None:
    report = onnxpert.diagnose(net(), (X,), quantize="int8-static", calibration=[given])
    assert report.ok
    assert quantised(report).calibration == 1


def test_calibration_of_other_sizes_needs_a_dynamic_axis() -> None:
    other = [torch.cat([X, X])]
    with pytest.raises(UsageError, match="axis 0 of x is 8, and the file takes 4 only"):
        onnxpert.diagnose(net(), (X,), quantize="int8-static", calibration=other)
    report = onnxpert.diagnose(
        net(), (X,), quantize="int8-static", calibration=other, dynamic_shapes="auto"
    )
    assert report.ok


def test_calibration_that_is_no_input_of_the_model_is_a_finding() -> None:
    report = onnxpert.diagnose(net(), (X,), quantize="int8-static", calibration=[(X, X)])
    assert not report.ok
    assert any("calibration input 1" in finding.message for finding in report.findings)


def test_the_users_logging_is_left_alone() -> None:
    root = logging.getLogger()
    before = (list(root.handlers), root.level)
    onnxpert.diagnose(net(), (X,), quantize="int4-weight")
    assert (list(root.handlers), root.level) == before


@pytest.mark.parametrize("opset", [13, 17, 21])
@pytest.mark.parametrize("scheme", ["int8-dynamic", "int8-static", "int4-weight"])
def test_opsets_are_as_asked(scheme: str, opset: int, tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(net(), (X,), path, quantize=scheme, opset_version=opset)
    imports = {each.domain: each.version for each in onnx.load(path).opset_import}
    assert imports.pop("") == opset
    assert imports in ({}, {"com.microsoft": 1})


def test_the_standard_forms_run_on_the_reference() -> None:
    report = onnxpert.diagnose(net(), (X,), quantize="int8-static", target="onnx-reference")
    assert report.ok
    assert 0 < quantised(report).error < 0.1


def test_weights_beside_the_file(tmp_path: Path) -> None:
    path = tmp_path / "m.onnx"
    onnxpert.export(net(), (X,), path, quantize="int8-dynamic", external_data=True)
    assert {file.name for file in tmp_path.iterdir()} == {"m.onnx", "m.onnx.data"}
    session = onnxruntime.InferenceSession(path)
    assert session.run(None, {"x": X.numpy()})[0].shape == (4, 16)


def test_without_a_proof_the_error_is_measured_all_the_same(tmp_path: Path) -> None:
    report = onnxpert.export(
        net(), (X,), tmp_path / "m.onnx", quantize="int8-dynamic", verify=False
    )
    assert report.verified == ()
    assert 0 < quantised(report).error < 0.1


def test_half_precision_is_widened_first() -> None:
    half, args = net().half(), (X.half(),)
    report = onnxpert.diagnose(half, args, quantize="int8-dynamic")
    assert "QNT004" in rules(report)
    wide = onnxpert.diagnose(half, args, quantize="int8-dynamic", precision="float32")
    assert wide.ok
    assert quantised(wide).error < 0.1


def test_whole_numbers_are_counted() -> None:
    class Choice(Net):
        def forward(self, x: Tensor) -> Tensor:
            return super().forward(x).argmax(-1)

    report = onnxpert.diagnose(Choice().eval(), (X,), quantize="int8-dynamic")
    (row,) = quantised(report).rows
    assert (row.before, row.sqnr) == (0.0, None)
    assert row.after is not None


def test_the_report_tells_it_in_every_form() -> None:
    report = onnxpert.diagnose(net(), (X,), quantize="int4-weight")
    again = Report.from_json(report.to_json())
    assert again.quantised == report.quantised
    for form in ("text", "markdown", "html"):
        text = report.render(form)
        assert "int4-weight: " in text
        assert "layers that hurt most" in text
        assert "SQNR" in text
        assert "body.2" in text.replace("\\", "")
    assert "the float32 file before it was quantised" in str(report)
    assert "quantised within" in str(report).splitlines()[0]


def test_a_file_that_the_runtime_refuses_is_an_error() -> None:
    row = Accuracy("batch=3", "y", {"batch": 3}, None, None, given=False, problem="shape [3, 1]")
    layer = QuantisedLayer("fc", "MatMul", 0.01)
    (found,) = diagnose(Quantised("int8-dynamic", 0.1, (layer,), (row,)))
    assert found.blocks
    assert "batch=3: shape [3, 1]" in found.message
    (found,) = diagnose(Quantised("int8-dynamic", 0.1, (layer,), problem="no kernel"))
    assert found.message == "there is no quantised file: no kernel"


def test_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "model.py"
    source.write_text(
        "import torch\n\n\ndef model():\n    torch.manual_seed(0)\n"
        "    return torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 8)).eval()\n"
    )
    inputs = tmp_path / "inputs"
    inputs.mkdir()
    for number in range(3):
        np.savez(inputs / f"{number}.npz", input=X.numpy() * (number + 1))
    path = tmp_path / "m.onnx"
    code = main([
        "export", f"{source}:model", "--input", "input=float32[4,64]", "-o", str(path),
        "--quantize", "int8-static", "--calibration", str(inputs), "--quantize-exclude", "1",
        "--quantize-bound", "0.2", "--json", "--quiet",
    ])  # fmt: skip
    told = json.loads(capsys.readouterr().out)
    assert code == 0, told
    assert told["quantised"]["calibration"] == 3
    assert told["quantised"]["bound"] == 0.2
    assert [layer["kept"] for layer in told["quantised"]["layers"]] == [None, "asked"]
    assert path.is_file()
