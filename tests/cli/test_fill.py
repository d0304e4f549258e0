"""`onnxpert fill` and what `export` is told about weights, with a real model and real files."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

import onnxpert
from onnxpert.cli import main

SOURCE = """\
import torch

def real():
    torch.manual_seed(0)
    return torch.nn.Linear(40, 30).eval()

def empty():
    with torch.device("meta"):
        return torch.nn.Linear(40, 30).eval()
"""
INPUT = ["--input", "float32[n=2,40]", "--quiet"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.py").write_text(SOURCE)
    torch.manual_seed(0)
    save_file(torch.nn.Linear(40, 30).state_dict(), "net.safetensors")
    return tmp_path


def proven(file: str) -> bool:
    return main(["verify", file, "--against", "net.py:real", *INPUT]) == 0


def test_later_and_filled(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "net.py:empty", *INPUT, "--weights", "later", "-o", "a.onnx"]) == 0
    assert "onnxpert fill MODEL.onnx" in capsys.readouterr().out
    assert main(["fill", "a.onnx", "net.safetensors", "-o", "b.onnx", "--quiet"]) == 0
    assert "filled, not proven yet: b.onnx" in capsys.readouterr().out
    assert main(["fill", "a.onnx", "net.safetensors", "--quiet", "--external-data", "1GB"]) == 0
    assert (folder / "a.onnx.data").exists()
    assert proven("a.onnx")
    assert proven("b.onnx")


@pytest.mark.parametrize("name", ["real", "empty"])
def test_filled_and_proven(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model on the meta device is given the weights of the checkpoint."""
    main(["export", "net.py:empty", *INPUT, "--weights", "later", "-o", "a.onnx"])
    capsys.readouterr()
    against = ["--against", f"net.py:{name}", *INPUT]
    assert main(["fill", "a.onnx", "net.safetensors", "-o", "b.onnx", *against]) == 0
    assert "filled and proven: b.onnx" in capsys.readouterr().out
    assert proven("b.onnx")


def test_the_wrong_weights_are_not_written(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["export", "net.py:empty", *INPUT, "--weights", "later", "-o", "a.onnx"])
    torch.manual_seed(1)
    save_file(torch.nn.Linear(40, 30).state_dict(), "other.safetensors")
    capsys.readouterr()
    against = ["--against", "net.py:real", *INPUT]
    assert main(["fill", "a.onnx", "other.safetensors", "-o", "b.onnx", *against]) == 1
    assert "NUM701" in capsys.readouterr().out
    assert not (folder / "b.onnx").exists()
    assert main(["fill", "a.onnx", "net.safetensors", *INPUT]) == 2
    assert "add --against SOURCE" in capsys.readouterr().err


def test_a_key_that_is_missing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    save_file({"weight": torch.ones(30, 40)}, "other.safetensors")
    main(["export", "net.py:empty", *INPUT, "--weights", "later", "-o", "a.onnx"])
    before = (folder / "a.onnx").read_bytes()
    assert main(["fill", "a.onnx", "other.safetensors", "--quiet"]) == 1
    assert "error[WGT001]: 1 weight is not in other.safetensors: bias" in capsys.readouterr().out
    assert (folder / "a.onnx").read_bytes() == before


def test_a_file_that_points_into_the_checkpoint(folder: Path) -> None:
    words = ["export", "net.py:empty", *INPUT, "-o", "a.onnx", "--weights", "net.safetensors"]
    assert main(words) == 0
    assert (folder / "a.onnx").stat().st_size < 3000
    assert proven("a.onnx")
    main(["export", "net.py:empty", *INPUT, "--weights", "later", "-o", "b.onnx"])
    assert main(["fill", "b.onnx", "net.safetensors", "--no-copy", "--quiet"]) == 0
    assert not (folder / "b.onnx.data").exists()
    assert proven("b.onnx")


def test_split_by_size(folder: Path) -> None:
    words = ["export", "net.py:real", *INPUT, "-o", "a.onnx", "--external-data", "4k"]
    assert main(words) == 0
    assert (folder / "a.onnx.data").exists()  # one weight is large: one file
    assert proven("a.onnx")


def test_what_is_no_size_is_said(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--external-data", "net.py:real", *INPUT]) == 2
    assert "'net.py:real' is not a size such as 1GB" in capsys.readouterr().err
    assert main(["fill", "gone.onnx", "net.safetensors"]) == 2
    assert "there is no file gone.onnx" in capsys.readouterr().err
    with pytest.raises(onnxpert.ExportError):
        onnxpert.export(torch.nn.Linear(2, 2, device="meta"), (torch.ones(1, 2),), "x.onnx")
