"""`onnxpert check` on the command line."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from onnxpert.cli import main


@pytest.fixture
def det(tmp_path: Path) -> str:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3, 3])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n"])
    graph = helper.make_graph([helper.make_node("Det", ["x"], ["y"], name="det")], "g", [x], [y])
    opset = [helper.make_opsetid("", 20)]
    path = tmp_path / "det.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=10), path)
    return str(path)


def test_a_file_that_fits(det: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", det, "--quiet"]) == 0
    assert "fits ort-cpu and runs there" in capsys.readouterr().out


def test_a_file_that_does_not(det: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "why.html"
    asked = ["check", det, "--target", "openvino", "--json", "--report", str(page), "--quiet"]
    assert main(asked) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert finding["rule"] == "TGT803"
    assert "openvino has no operator Det" in page.read_text(encoding="utf-8")


def test_sarif(det: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", det, "--target", "tensorrt", "--no-run", "--format", "sarif"]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    assert "TGT803" in [result["ruleId"] for result in run["results"]]


def test_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(tmp_path / "nothing.onnx")]) == 2
    assert "there is no file" in capsys.readouterr().err


def test_a_check_does_not_need_torch(det: str) -> None:
    program = (
        "import sys\nsys.modules['torch'] = None\nfrom onnxpert.cli import main\n"
        f"raise SystemExit(main(['check', {det!r}, '--quiet']))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
