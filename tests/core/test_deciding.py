"""What a number decides is looked up in the source, which is gone through once."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from onnxpert.core import deciding
from onnxpert.core.types import Location

SOURCE = """
def forward(x):
    n = x.shape[0]
    for i in range(n):
        x = x + x.shape[0]
    return x if n > 3 else -x
"""


def test_what_is_asked_again_is_not_looked_for_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "model.py"
    file.write_text(SOURCE, encoding="utf-8")
    walked: list[str] = []
    plain = ast.walk

    def counted(node: ast.AST) -> Any:
        walked.append(type(node).__name__)
        return plain(node)

    monkeypatch.setattr(ast, "walk", counted)
    place = Location(str(file), 3)
    found = [[one.line for one in deciding.deciding(place)] for _ in range(3)]
    assert found == [[4, 6]] * 3
    assert walked.count("Module") == 1
