"""What errors of a capture's own are watched for costs Python half its speed: only where it has to be."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

import onnxpert

TRIED_AT_THE_TOP = """
try:
    import kernels_that_nobody_has
except ImportError:
    kernels_that_nobody_has = None

def doubled(x):
    return x * 2
"""
TRIED_IN_A_FUNCTION = """
def doubled(x):
    try:
        return x * 2
    except RuntimeError:
        return x
"""
MODEL = """
import sys
from torch import nn

class Doubled(nn.Module):
    def forward(self, x):
        sys.note(sys.gettrace())
        return doubled(x)
"""


@pytest.mark.parametrize(
    ("source", "is_watched"), [(TRIED_AT_THE_TOP, False), (TRIED_IN_A_FUNCTION, True)]
)
def test_an_except_is_watched_for_where_a_function_has_one(
    source: str, is_watched: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "doubling.py"
    file.write_text(MODEL + source, encoding="utf-8")
    spec: Any = importlib.util.spec_from_file_location("doubling", file)
    home = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "doubling", home)
    spec.loader.exec_module(home)
    seen: list[Any] = []
    # What the model itself held would be put back as it was.
    monkeypatch.setattr(sys, "note", seen.append, raising=False)
    before = sys.gettrace()
    onnxpert.diagnose(home.Doubled().eval(), (torch.ones(3),))
    assert any(each is not before for each in seen) == is_watched
