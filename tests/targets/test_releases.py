"""The table of ONNX Runtime's releases, and what is written for one of them."""

from __future__ import annotations

import itertools
from pathlib import Path

import onnx
import onnx_ir as ir
import onnxruntime
import pytest
import torch

import onnxpert
from onnxpert.core.errors import UsageError
from onnxpert.targets import find
from onnxpert.targets.fit import fit
from onnxpert.targets.kernels import installed
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


def _small(x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    return x >= 128, x + x.flip(0), torch.where(x > 3, x, x // 2)


@pytest.mark.parametrize("text", ["1.17", "1.20"])
def test_what_a_release_has_no_kernel_for_is_computed_wider(text: str, tmp_path: Path) -> None:
    """Comparisons and sums of uint8 came with 1.23."""
    place = tmp_path / "m.onnx"
    x = torch.randint(0, 256, (3, 5), dtype=torch.uint8)
    onnxpert.export(_small, (x,), place, runtime_version=text)
    model = ir.from_proto(onnx.shape_inference.infer_shapes(onnx.load(place)))
    assert not fit(model, find("ort-cpu"), lambda _: None, text).beyond
    onnxpert.export(_small, (x,), place)
    model = ir.from_proto(onnx.shape_inference.infer_shapes(onnx.load(place)))
    assert fit(model, find("ort-cpu"), lambda _: None, text).beyond


def test_what_no_wider_type_cures_is_said_with_the_release() -> None:
    report = onnxpert.diagnose(torch.cos, (torch.randn(3).double(),), runtime_version="1.20")
    said = [finding.message for finding in report.findings if finding.blocks]
    assert said == ["ort-cpu 1.20 has no kernel for Cos in float64"]


def test_a_release_between_two_tables_knows_later_opsets() -> None:
    kernels = installed("ort-cpu", "1.27")
    assert kernels is not None
    assert kernels.has("", "Cast", 25, {"T1": "tensor(float)", "T2": "tensor(int32)"})
    assert not kernels.has("", "TopK", 11, {"T": "tensor(uint8)"})
