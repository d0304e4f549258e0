"""docs/quantisation.md is true: its blocks run, in order, as one script."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs/quantisation.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = PAGE.read_text(encoding="utf-8")
    names: dict[str, Any] = {"__name__": "page"}
    for match in BLOCK.finditer(text):
        above = text.count("\n", 0, match.start(1))  # so that an error names the page's own line
        exec(compile("\n" * above + match[1], str(PAGE), "exec"), names)
    assert {"small.onnx", "static.onnx", "careful.onnx"} <= {
        file.name for file in tmp_path.iterdir()
    }
