"""The table of ONNX Runtime's releases, and what is written for one of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import onnx
import onnxruntime
import pytest
import torch

import onnxpert
from onnxpert.core.errors import UsageError
from onnxpert.targets.releases import RELEASES, oldest, release
from onnxpert.targets.runtimes.ort_cpu import limits


def test_the_installed_release_is_as_the_table_says() -> None:
    try:
        known = release(onnxruntime.__version__)
    except UsageError:
        pytest.skip(f"the table does not know {onnxruntime.__version__} yet")
    assert limits() == (known.opset, known.ir_version)


def test_newer_releases_take_no_less() -> None:
    assert list(RELEASES) == sorted(RELEASES, key=lambda each: each.version)
    for older, newer in itertools.pairwise(RELEASES):
        assert older.opset <= newer.opset
        assert older.ir_version <= newer.ir_version


@pytest.mark.parametrize("text", ["1.17", "1.17.3", "v1.17"])
def test_a_release_by_its_name(text: str) -> None:
    found = release(text)
    assert (found.opset, found.ir_version) == (20, 9)
    assert oldest(20, 9) == found


@pytest.mark.parametrize("text", ["", "17", "0.3", "9.9", "1.171"])
def test_an_unknown_release(text: str) -> None:
    with pytest.raises(UsageError, match="nothing is known of ONNX Runtime"):
        release(text)


def test_a_file_for_an_older_release(tmp_path: Path) -> None:
    place = tmp_path / "net.onnx"
    args = (torch.randn(2, 3),)
    report = onnxpert.export(torch.nn.Linear(3, 3).eval(), args, place, runtime_version="1.16")
    model = onnx.load(place)
    assert (model.opset_import[0].version, model.ir_version) == (19, 9)
    assert report.opset == 19


def test_an_opset_beyond_the_release() -> None:
    args = (torch.randn(2, 3),)
    model = torch.nn.Linear(3, 3).eval()
    report = onnxpert.diagnose(model, args, runtime_version="1.16", opset_version=21)
    assert [finding.rule for finding in report.findings] == ["VER601"]
