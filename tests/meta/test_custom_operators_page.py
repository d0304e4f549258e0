"""docs/custom-operators.md is true: its blocks run, in order, as one script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import onnx
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/custom-operators.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    for match in BLOCK.finditer(text):
        above = text.count("\n", 0, match.start(1))  # so that an error names the page's own line
        exec(compile("\n" * above + match[1], str(PAGE), "exec"), names)
    kept = onnx.load("kept.onnx")
    assert [(node.domain, node.op_type) for node in kept.graph.node] == [
        ("com.example", "amplify"),
        ("", "Relu"),
    ]
    assert names["report"].ok
    assert {finding.rule for finding in names["report"].findings} == {"OPS507"}


def test_every_rule_that_the_page_names_is_there() -> None:
    pages = re.findall(r"\((rules/\w+\.md)\)", PAGE.read_text(encoding="utf-8"))
    assert pages
    for page in pages:
        assert (PAGE.parent / page).is_file(), page
