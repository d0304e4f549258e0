"""Libraries that ask whether the model is being exported, and then do something else."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest
import torch

import onnxpert

_MODEL = """
import torch


def is_told(x):
    exporting = torch.compiler.is_exporting()
    return exporting or isinstance(x, torch._subclasses.FakeTensor)


class Masked(torch.nn.Module):
    def forward(self, x, mask):
        if not is_told(x) and bool(mask.all()):
            return x{after}
        return x * mask * 2
"""


def _model(folder: Path, after: str = "") -> torch.nn.Module:
    path = folder / "site-packages" / "masked_by_a_library.py"
    path.parent.mkdir()
    path.write_text(_MODEL.replace("{after}", after))
    spec = importlib.util.spec_from_file_location("masked_by_a_library", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made: torch.nn.Module = module.Masked().eval()
    return made


@pytest.mark.parametrize("seen", [True, False])
def test_what_a_library_does_when_it_runs_is_in_the_file(tmp_path: Path, seen: bool) -> None:
    mask = torch.tensor([True, True, seen])
    report = onnxpert.diagnose(_model(tmp_path), (torch.randn(3), mask), dynamic_shapes="auto")
    assert report.ok, report
    assert any(f.rule == "CTL406" for f in report.findings)


def test_where_nothing_follows_that_it_is_told_what_differs(tmp_path: Path) -> None:
    model = _model(tmp_path, " * len({float(each) for each in x})")
    report = onnxpert.diagnose(model, (torch.rand(3), torch.ones(3, dtype=torch.bool)))
    assert [f.rule for f in report.findings if f.blocks] == ["NUM701"], report
