"""A kernel library of the user's own: the proof runs with it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import onnxpert
from onnxpert.core.errors import UsageError

COMPILER = shutil.which("cc") or shutil.which("gcc")
SOURCE = Path(__file__).with_name("scaled.c")
DOMAINS = {"test_kernels": "com.example"}


@torch.library.custom_op("test_kernels::scale", mutates_args=())
def scale(x: torch.Tensor, s: float) -> torch.Tensor:
    return x * s


@torch.library.custom_op("test_kernels::other", mutates_args=())
def other(x: torch.Tensor) -> torch.Tensor:
    return x * 2


class Scales(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return scale(x, 3.0).relu()


class Others(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return other(x)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    path = tmp_path_factory.mktemp("kernels") / "libscaled.so"
    subprocess.run([COMPILER, "-shared", "-fPIC", "-o", path, SOURCE], check=True)
    return str(path)


def test_a_file_is_proven_with_its_kernels(library: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.onnx"
    report = onnxpert.export(
        Scales(),
        (torch.randn(2, 3),),
        path,
        custom_domains=DOMAINS,
        kernel_library=library,
        dynamic_shapes={"x": {0: "n"}},
    )
    (finding,) = report.findings
    assert (finding.rule, finding.severity) == ("OPS507", onnxpert.Severity.INFO)
    assert len(report.verified) > 1
    again = onnxpert.verify(path, Scales(), (torch.randn(2, 3),), kernel_library=library)
    assert again.ok
    assert not onnxpert.verify(path, Scales(), (torch.randn(2, 3),)).ok


def test_a_kernel_that_computes_something_else_does_not_pass(library: str) -> None:
    class Wrong(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return tripled(x, 2.0)

    @torch.library.custom_op("test_kernels_wrong::scale", mutates_args=())
    def tripled(x: torch.Tensor, s: float) -> torch.Tensor:
        return x * s * 3

    report = onnxpert.diagnose(
        Wrong(),
        (torch.randn(2, 3),),
        custom_domains={"test_kernels_wrong": "com.example"},
        kernel_library=library,
    )
    assert "NUM701" in {finding.rule for finding in report.findings}


def test_a_library_without_the_kernel_is_refused_by_the_runtime(library: str) -> None:
    report = onnxpert.diagnose(
        Others(), (torch.randn(2),), custom_domains=DOMAINS, kernel_library=[library]
    )
    assert "TGT801" in {finding.rule for finding in report.findings}


def test_a_library_that_is_none_is_misuse(tmp_path: Path) -> None:
    text = tmp_path / "lib.so"
    text.write_text("not a library")
    for path, says in ((tmp_path / "nowhere.so", "there is no"), (text, "cannot be loaded")):
        with pytest.raises(UsageError, match=says):
            onnxpert.diagnose(
                Scales(), (torch.randn(2),), custom_domains=DOMAINS, kernel_library=path
            )


def test_a_target_that_takes_none_says_so(library: str) -> None:
    with pytest.raises(UsageError, match="takes no kernel library"):
        onnxpert.diagnose(
            Scales(), (torch.randn(2),), target="onnx-reference", kernel_library=library
        )
