"""Pages of docs/ are true: the blocks of each run, in order, as one script, and leave what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(name: str) -> dict[str, Any]:
    page = DOCS / name
    text = page.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    for match in BLOCK.finditer(text):
        above = text.count("\n", 0, match.start(1))  # so that an error names the page's own line
        exec(compile("\n" * above + match[1], str(page), "exec"), names)
    return names


def test_custom_operators(folder: Path) -> None:
    report = run("custom-operators.md")["report"]
    kept = onnx.load(folder / "kept.onnx")
    assert [(node.domain, node.op_type) for node in kept.graph.node] == [
        ("com.example", "amplify"),
        ("", "Relu"),
    ]
    assert report.ok
    assert {finding.rule for finding in report.findings} == {"OPS507"}


def test_large_models(folder: Path) -> None:
    assert run("large-models.md")["report"].ok
    assert sorted(path.name for path in folder.iterdir()) == [
        "empty.onnx",
        "filled.onnx",
        "model.safetensors",
        "net.onnx",
        "net.onnx.00001-of-00002.data",
        "net.onnx.00002-of-00002.data",
        "pointing.onnx",
    ]
    assert (folder / "pointing.onnx").stat().st_size < 10_000


def test_quantisation(folder: Path) -> None:
    run("quantisation.md")
    assert {"small.onnx", "static.onnx", "careful.onnx"} <= {file.name for file in folder.iterdir()}


@pytest.mark.filterwarnings("ignore")  # transformers has opinions of its own
@pytest.mark.usefixtures("folder")
def test_state() -> None:
    pytest.importorskip("transformers")
    assert run("state.md")["report"].ok


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: str(page.name))
def test_every_page_that_a_page_names_is_there(page: Path) -> None:
    for target in re.findall(r"\]\(([\w./-]+\.md)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).is_file(), target
