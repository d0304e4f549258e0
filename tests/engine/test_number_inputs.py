"""Python floats among the arguments: inputs of the file where the model allows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import onnxruntime
import pytest
import torch
from torch import Tensor, nn

import onnxpert


class Softens(nn.Module):
    def forward(self, x: Tensor, temperature: float = 1.0) -> Tensor:
        return (x / temperature).softmax(-1)


class Rounds(nn.Module):
    def forward(self, x: Tensor, factor: float) -> Tensor:
        return x * round(factor) + float.fromhex(factor.hex())


def test_a_float_becomes_an_input_that_counts(tmp_path: Path) -> None:
    path = tmp_path / "softens.onnx"
    x = torch.randn(2, 4)
    report = onnxpert.export(Softens().eval(), (x, 0.7), path)
    assert [f.rule for f in report.findings if f.repaired] == ["INP113"]
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    feeds: Any = {"x": x.numpy(), "temperature": numpy.array(2.0, dtype=numpy.float32)}
    (result,) = session.run(None, feeds)
    numpy.testing.assert_allclose(result, (x / 2.0).softmax(-1).numpy(), rtol=1e-5)


def test_a_float_that_only_python_can_use_stays_with_a_warning() -> None:
    report = onnxpert.diagnose(Rounds().eval(), (torch.randn(3), 0.7))
    assert report.ok
    (finding,) = [f for f in report.findings if f.severity is not onnxpert.Severity.INFO]
    assert finding.rule == "INP123"
    assert finding.severity is onnxpert.Severity.WARNING
    assert "0.7," in finding.message
    assert not report.repairs


def test_a_float_that_was_asked_for_and_stays_is_an_error() -> None:
    wish = {"x": None, "factor": torch.export.Dim.DYNAMIC}
    report = onnxpert.diagnose(Rounds().eval(), (torch.randn(3), 0.7), dynamic_shapes=wish)
    assert not report.ok
    (finding,) = [f for f in report.findings if f.severity is not onnxpert.Severity.INFO]
    assert (finding.rule, finding.severity) == ("INP123", onnxpert.Severity.ERROR)


def test_without_repairs_it_is_a_constant() -> None:
    report = onnxpert.diagnose(Softens().eval(), (torch.randn(2, 4), 0.7), repair="off")
    assert [finding.rule for finding in report.findings] == ["INP125", "INP113"]


class Weighs(nn.Module):
    def forward(self, x: Tensor, weight: float) -> Tensor:
        y = x * weight
        return y * len(f"{int(x.sum()):03d}")


class Counts(nn.Module):
    def forward(self, x: Tensor, weight: float) -> Tensor:
        y = x * weight
        return y * len("%d" % x.sum())  # noqa: UP031


@pytest.mark.parametrize("model", [Weighs(), Counts()])
def test_a_number_beside_an_obstacle_is_no_obstacle_of_its_own(model: nn.Module) -> None:
    report = onnxpert.diagnose(model.eval(), (torch.randn(3), 0.5))
    assert not report.ok
    told = {each.rule: each for each in report.findings}
    assert told["INP113"].repaired
    assert "INP123" not in told
    assert [each.help for each in report.findings if each.rule == "INP125"] == [
        "nothing to do: it is an input of the file"
    ]
