"""`--timeout` and `--max-memory` of the command line, with real models in real children."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from onnxpert.cli import main

MODEL = """
import ctypes, time, torch


class Net(torch.nn.Module):
    def forward(self, x):
        {deed}
        return x * 2


def example_inputs():
    return (torch.randn(2, 3),)
"""


def run(folder: Path, deed: str, *words: str, after: str = "") -> subprocess.CompletedProcess[str]:
    (folder / "net.py").write_text(MODEL.format(deed=deed) + after, encoding="utf-8")
    call = [sys.executable, "-m", "onnxpert", "export", "net.py:Net", "--json", *words]
    return subprocess.run(
        call, cwd=folder, capture_output=True, text=True, check=False, env={**os.environ}
    )


def test_a_hanging_import_is_ended_too(tmp_path: Path) -> None:
    done = run(tmp_path, "pass", "--timeout", "20", after="time.sleep(1000)\n")
    assert done.returncode == 1, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["rule"] == "CAP021"
    assert finding["message"].startswith("reading the source of the model did not end within 20 s")
    assert finding["location"]["line"] == 13
    assert {each.name for each in tmp_path.iterdir()} <= {"net.py", "__pycache__"}


def test_a_crash_has_a_line_and_the_exit_code_1(tmp_path: Path) -> None:
    done = run(tmp_path, "ctypes.string_at(0)", "--max-memory", "8G")
    assert done.returncode == 1, done.stderr
    (finding,) = json.loads(done.stdout)["findings"]
    assert finding["rule"] == "CAP023"
    assert finding["location"]["line"] == 7
    assert {each.name for each in tmp_path.iterdir()} <= {"net.py", "__pycache__"}


def test_a_fine_model_is_exported(tmp_path: Path) -> None:
    done = run(tmp_path, "pass", "--timeout", "200", "--max-memory", "16G")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "Net.onnx").is_file()
    assert "verify" in done.stderr


@pytest.mark.parametrize(
    "words", [["--timeout", "soon"], ["--timeout", "-1"], ["--max-memory", "much"]]
)
def test_a_wrong_limit_is_misuse(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", "net.py:Net", *words]) == 2
    assert words[0] in capsys.readouterr().err
