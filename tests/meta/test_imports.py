"""`import onnxpert` and `onnxpert --help` answer at once: neither waits for torch or a runtime."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = ("torch", "onnx", "onnx_ir", "onnxscript", "onnxruntime", "numpy")

REPORT = f"""
print("loaded:", *sorted(set({HEAVY!r}) & set(sys.modules)))
"""
HELP = """
import sys
from onnxpert.cli import main
sys.argv = ["onnxpert", *{words!r}]
try:
    code = main()
except SystemExit as stop:
    code = stop.code
assert not code, code
"""


def loaded_by(program: str) -> tuple[list[str], str]:
    """The heavy packages that a program left loaded, and what else it printed."""
    done = subprocess.run(
        [sys.executable, "-c", program + REPORT], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    said, _, names = done.stdout.rpartition("loaded:")
    return names.split(), said


def test_the_package_loads_nothing_heavy() -> None:
    assert loaded_by("import sys, onnxpert")[0] == []


def test_the_values_load_nothing_heavy() -> None:
    names = ("Report", "Finding", "Severity", "Safety", "ExportError")
    program = "import sys, onnxpert\n" + "\n".join(f"onnxpert.{name}" for name in names)
    assert loaded_by(program)[0] == []


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["export", "--help"]], ids=" ".join)
def test_the_command_line_helps_without_anything_heavy(words: list[str]) -> None:
    heavy, said = loaded_by(HELP.format(words=words))
    assert heavy == []
    assert "onnxpert" in said


def test_the_report_of_this_test_sees_what_is_loaded() -> None:
    assert loaded_by("import sys, numpy")[0] == ["numpy"]
