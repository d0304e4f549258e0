"""docs/large-models.md is true: its blocks run, in order, as one script, and leave what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/large-models.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    for match in BLOCK.finditer(text):
        above = text.count("\n", 0, match.start(1))  # so that an error names the page's own line
        exec(compile("\n" * above + match[1], str(PAGE), "exec"), names)
    assert names["report"].ok
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "empty.onnx",
        "filled.onnx",
        "model.safetensors",
        "net.onnx",
        "net.onnx.00001-of-00002.data",
        "net.onnx.00002-of-00002.data",
        "pointing.onnx",
    ]
    assert (tmp_path / "pointing.onnx").stat().st_size < 10_000
