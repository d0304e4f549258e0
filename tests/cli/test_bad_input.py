"""Bad input through the real program: a paragraph with what to do, exit code 2, no file."""

import subprocess
import sys
from pathlib import Path

import pytest

MODEL = """
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(4, 2)

    def forward(self, x):
        return self.fc(x)

class Sized(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc = nn.Linear(4, width)

    def forward(self, x):
        return self.fc(x)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL, encoding="utf-8")
    return tmp_path


def _run(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    call = [sys.executable, "-m", "onnxpert", *words]
    return subprocess.run(
        call, cwd=folder, capture_output=True, text=True, check=False, timeout=120
    )


def _files(folder: Path) -> set[str]:
    return {path.name for path in folder.rglob("*") if "__pycache__" not in path.parts}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nowhere.py:Net", "--input", "float32[1,4]"], ["nowhere.py"]),
        (["model.py:Nte", "--input", "float32[1,4]"], ["Nte", "Net"]),
        (["model.py:Sized", "--input", "float32[1,4]"], ["Sized", "width"]),
        (["model.py:Net", "--input", "float32[1,4"], ["float32[1,4"]),
        (["model.py:Net", "--input", "float33[1,4]"], ["float33"]),
        (["model.py:Net", "--inputs", "nothing.npz"], ["nothing.npz"]),
        (
            ["model.py:Net", "--input", "float32[99999999999999,4]"],
            ["not enough memory", "4 numbers"],
        ),
        (
            ["model.py:Net", "--input", "float32[1,4]", "--repro", "model.py"],
            ["model.py is a file"],
        ),
        (["model.py:Net", "--input", "float32[1,4]", "-o", "no/where.onnx"], ["no/where.onnx"]),
        (["model.py:Net", "--input", "float32[1,4]", "--target", "abacus"], ["abacus", "ort-cpu"]),
        (["model.py:Net", "--input", "float32[1,4]", "-o", "/proc/net.onnx"], ["/proc/net.onnx"]),
    ],
    ids=lambda value: value[-1] if isinstance(value, list) else None,
)
def test_misuse_is_one_paragraph(folder: Path, words: list[str], said: list[str]) -> None:
    done = _run(folder, "export", *words, "--quiet")
    assert done.stdout == ""
    assert done.stderr.startswith("error: "), done.stderr
    assert "Traceback" not in done.stderr
    assert "= help: " in done.stderr
    assert len(done.stderr.strip().split("\n\n")) == 1
    for each in said:
        assert each in done.stderr
    assert done.returncode == 2
    assert _files(folder) == {"model.py"}


def test_an_input_that_the_model_refuses_is_a_finding(folder: Path) -> None:
    done = _run(folder, "export", "model.py:Net", "--input", "float32[1,5]", "--quiet")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("not exported: 1 error")
    assert "model.py:10" in done.stdout
    assert _files(folder) == {"model.py"}


def test_a_model_is_exported(folder: Path) -> None:
    done = _run(folder, "export", "model.py:Net", "--input", "x=float32[batch=2,4]", "-o", "a.onnx")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("exported and proven: a.onnx  (opset ")
    assert "input   x: float32[batch, 4]" in done.stdout
    assert _files(folder) == {"model.py", "a.onnx"}
    assert "capture " in done.stderr


@pytest.mark.parametrize("words", [["export", "--help"], ["explain"]], ids=" ".join)
def test_a_reader_that_has_seen_enough(folder: Path, words: list[str]) -> None:
    call = [sys.executable, "-m", "onnxpert", *words]
    with subprocess.Popen(
        call, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.close()  # long before Python has started
        assert running.stderr.read() == ""
        assert running.wait() == 0


def test_a_full_disk_under_stdout(folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full here")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "onnxpert", "doctor", "--json", "--quiet"],
            cwd=folder,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "error: no space left on device\n"
