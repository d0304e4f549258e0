"""Lowerings that are brought along: by value, in a module, in a file, by an installed package."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import onnx
import pytest
import torch
import torch.ao.quantization.fx._decomposed  # makes torch.ops.quantized_decomposed

import onnxpert
from onnxpert.cli import main
from onnxpert.core.errors import UsageError
from onnxpert.engine import plugins

OPERATOR = """
import torch


@torch.library.custom_op("{namespace}::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() * 2)


class Net(torch.nn.Module):
    def forward(self, x):
        return twice(x) + 1
"""
PLUGIN = """
import onnxpert


@onnxpert.lowering("{namespace}::twice")
def twice_in_onnx(op, x):
    return op.Mul(x, 2.0)
"""


@torch.library.custom_op("test_plugins::twice", mutates_args=())
def twice(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(x.numpy() * 2)


@onnxpert.lowering("test_plugins::twice")
def twice_in_onnx(op: Any, x: Any) -> Any:
    return op.Mul(x, 2.0)


class Net(torch.nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return twice(x) + 1


def diagnosed(given: Any) -> onnxpert.Report:
    return onnxpert.diagnose(Net(), (torch.randn(3),), plugins=given)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "lowerings.py"
    path.write_text(PLUGIN.format(namespace="test_plugins"), encoding="utf-8")
    return path


def module(**values: Any) -> ModuleType:
    made = ModuleType("made_up")
    vars(made).update(values)
    return made


def test_a_plugin_may_be_a_function_a_module_or_a_file(file: Path) -> None:
    for given in (twice_in_onnx, [twice_in_onnx], module(it=twice_in_onnx), str(file), [file]):
        assert diagnosed(given).ok, given


def test_a_plugin_may_be_the_name_of_a_module(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(file.parent)
    assert diagnosed("lowerings").ok
    monkeypatch.delitem(sys.modules, "lowerings")


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("nowhere.py", "there is no file"),
        ("no.such.module", "there is no module"),
        (len, "len is not a plugin"),
        (module(), "there is no lowering in made_up"),
        (3, "3 is not a plugin"),
    ],
)
def test_what_is_no_plugin_is_misuse(given: Any, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        diagnosed(given)


def test_a_file_that_fails_is_told_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("\n1 / 0\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"ZeroDivisionError(.|\n)*broken.py:2"):
        diagnosed(path)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """An installed package that brings lowerings along."""

    def install(source: str) -> None:
        (tmp_path / "shop_lowerings.py").write_text(source, encoding="utf-8")
        info = tmp_path / "shop-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shop\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text("[onnxpert.plugins]\nshop = shop_lowerings\n")
        monkeypatch.syspath_prepend(tmp_path)

    plugins._installed.cache_clear()
    yield install
    plugins._installed.cache_clear()
    sys.modules.pop("shop_lowerings", None)


def test_a_package_brings_its_lowerings_along(package: Any) -> None:
    assert [finding.rule for finding in diagnosed([]).findings if finding.blocks] == ["OPS503"]
    plugins._installed.cache_clear()
    package(PLUGIN.format(namespace="test_plugins"))
    assert diagnosed([]).ok


def test_a_package_whose_plugin_fails_is_named(package: Any) -> None:
    package("1 / 0")
    with pytest.raises(UsageError, match=r"the plugin `shop`.*cannot be used") as caught:
        diagnosed([])
    assert "mend or uninstall the package that brings it, shop" in str(caught.value)


def test_the_command_line_takes_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "net.py").write_text(OPERATOR.format(namespace="cli_plugins"), encoding="utf-8")
    (tmp_path / "low.py").write_text(PLUGIN.format(namespace="cli_plugins"), encoding="utf-8")
    command = ["diagnose", f"{tmp_path}/net.py:Net", "--input", "x=float32[3]", "--quiet"]
    assert main([*command, "--plugin", f"{tmp_path}/low.py"]) == 0
    kept = [*command, "--custom-domain", "cli_plugins=com.example"]
    assert main(kept) == 1
    assert "OPS507" in capsys.readouterr().out
    assert main([*kept, "--no-verify"]) == 0
    assert main([*command, "--custom-domain", "cli_plugins"]) == 2
    assert "is not a pair such as" in capsys.readouterr().err


def test_quantised_tensors_keep_their_operators(tmp_path: Path) -> None:
    quantised = torch.ops.quantized_decomposed

    def there_and_back(x: torch.Tensor) -> torch.Tensor:
        small = quantised.quantize_per_tensor(x, 0.1, 3, 0, 255, torch.uint8)
        return quantised.dequantize_per_tensor(small, 0.1, 3, 0, 255, torch.uint8)

    path = tmp_path / "qdq.onnx"
    onnxpert.export(there_and_back, (torch.randn(3, 4) * 20,), path)
    nodes = [node.op_type for node in onnx.load(path).graph.node]
    assert nodes == ["QuantizeLinear", "DequantizeLinear"]
