"""Several examples on the command line: what differs between them varies in the file."""

from pathlib import Path

import numpy as np
import onnx
import pytest

from onnxpert.cli import main

MODEL = """
import torch


class Net(torch.nn.Module):
    def forward(self, x, y):
        return x.sum(1) + y
"""


@pytest.mark.parametrize("further", ["x=float32[5,3]; y=float32[5]", "more.npz"])
def test_what_differs_between_examples_is_dynamic(
    further: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    np.savez("more.npz", x=np.ones((5, 3), np.float32), y=np.ones(5, np.float32))
    words = ["export", "model.py:Net", "--input", "x=float32[2,3]", "--input", "y=float32[2]"]
    assert main([*words, "--example", further, "-o", "net.onnx", "--eval", "--quiet"]) == 0
    x, y = onnx.load("net.onnx").graph.input
    first, second = x.type.tensor_type.shape.dim
    assert first.dim_param
    assert second.dim_value == 3
    assert y.type.tensor_type.shape.dim[0].dim_param == first.dim_param


def test_an_example_that_cannot_be_read_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL)
    words = ["export", "model.py:Net", "--input", "x=float32[2,3]", "--input", "y=float32[2]"]
    assert main([*words, "--example", "absent.npz", "--quiet"]) == 2
    assert "there is no file `absent.npz`" in capsys.readouterr().err
