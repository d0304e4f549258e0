"""Every command of docs/report.md does what the page says, on a real model."""

import json
import re
from pathlib import Path
from xml.etree.ElementTree import parse

import pytest

from onnxpert.cli import main
from onnxpert.report import catalogue

PAGE = (Path(__file__).parents[2] / "docs/report.md").read_text(encoding="utf-8")
COMMANDS = re.findall(r"^onnxpert (.+)$", PAGE, re.MULTILINE)
MODEL = """
import torch


class Net(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + 1


def example_inputs():
    return (torch.ones(2, 3),)
"""


def test_the_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("model.py").write_text(MODEL, encoding="utf-8")
    assert main(["export", "model.py:Net", "-o", "net.onnx", "--quiet"]) == 0
    assert len(COMMANDS) == 3
    said = []
    for command in COMMANDS:
        capsys.readouterr()
        assert main([*command.split(), "--quiet"]) == 0
        said.append(capsys.readouterr().out)
    text, github, markdown = said
    assert text.startswith("exportable and proven")
    assert github.startswith("::notice title=onnxpert::Net: exported and proven: Net.onnx")
    assert markdown.startswith("<!-- onnxpert -->")
    assert 'id="graph-data"' in Path("why.html").read_text(encoding="utf-8")
    assert json.loads(Path("why.sarif").read_text(encoding="utf-8"))["version"] == "2.1.0"
    assert parse("why.xml").getroot().get("failures") == "0"


def test_the_table_has_every_format() -> None:
    rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \|", PAGE, re.MULTILINE)
    assert {name: tuple(re.findall(r"\.\w+", suffixes)) for name, suffixes in rows} == {
        each.name: each.suffixes for each in catalogue().values()
    }
