"""Every target: found by name, honest about its limits, and able to run what it says it takes."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

import onnxpert
from onnxpert import targets
from onnxpert.core.errors import UsageError
from onnxpert.targets.runtimes import ort_cpu

ALL = sorted(targets.catalogue())
RUNNING = ("ort-cpu", "ort-web", "openvino", "onnx-reference")  # what runs where it is installed
BY_RULE = ("ort-cuda", "ort-mobile", "tensorrt", "onnx")


def present(name: str) -> targets.Target:
    """The target; the test is skipped where its runtime is not installed."""
    target = targets.find(name)
    reason = target.absent()
    if reason:
        pytest.skip(reason)
    return target


def save(
    path: Path, *, opset: int = 20, ir_version: int = 8, kind: int = TensorProto.FLOAT
) -> Path:
    ends = [helper.make_tensor_value_info(name, kind, ["n"]) for name in "xy"]
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])], "main", *[[e] for e in ends]
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=ir_version
    )
    onnx.save(model, path / "model.onnx")
    return path / "model.onnx"


def test_the_names() -> None:
    assert set(ALL) == {*RUNNING, *BY_RULE}


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match="there is no target 'tensorflow'") as caught:
        targets.find("tensorflow")
    assert "ort-cpu" in caught.value.help


@pytest.mark.parametrize("name", ALL)
def test_every_target_says_what_it_is(name: str) -> None:
    target = targets.find(name)
    assert target.default_opset in target.opsets
    assert target.about
    assert target.capabilities.source
    if target.stand_in:
        assert targets.find(target.stand_in).absent() == ""
        assert target.install


@pytest.mark.parametrize("name", ALL)
def test_every_target_is_in_the_docs(name: str) -> None:
    page = Path(__file__).parents[2] / "docs" / "targets.md"
    assert f"| `{name}` |" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", BY_RULE)
def test_a_target_that_cannot_run_says_so(name: str, tmp_path: Path) -> None:
    target = targets.find(name)
    if not target.absent():
        pytest.skip(f"{name} is here")
    assert target.stand_in == "ort-cpu"
    if name != "ort-cuda":
        with pytest.raises(UsageError):
            target.open(save(tmp_path))


@pytest.mark.parametrize("name", RUNNING)
def test_both_ends_of_the_opsets_run(name: str, tmp_path: Path) -> None:
    target = present(name)
    x = np.ones(3, np.float32)
    for opset in (target.opsets[0], target.opsets[-1]):
        (y,) = target.open(save(tmp_path, opset=opset))({"x": x})
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("name", ["ort-cpu", "ort-web", "onnx-reference"])
def test_the_limits_are_those_of_what_is_installed(name: str) -> None:
    limits = present(name).limits()
    assert limits is not None
    opset, ir_version = limits
    assert opset >= targets.find(name).opsets[-1]
    assert ir_version >= 10


def test_the_runtime_refuses_what_lies_beyond_its_limits(tmp_path: Path) -> None:
    opset, ir_version = ort_cpu.limits() or (0, 0)
    target = targets.find("ort-cpu")
    target.open(save(tmp_path, opset=opset))
    target.open(save(tmp_path, ir_version=ir_version))
    with pytest.raises(Exception, match="opset"):
        target.open(save(tmp_path, opset=opset + 1))
    with pytest.raises(Exception, match="IR version"):
        target.open(save(tmp_path, ir_version=ir_version + 1))


def test_without_the_runtime_there_are_no_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "onnxruntime", None)
    assert ort_cpu.limits.__wrapped__() is None
    with pytest.raises(UsageError, match="onnxruntime cannot be imported"):
        targets.find("ort-cpu").open(Path("model.onnx"))


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        (TensorProto.BFLOAT16, ml_dtypes.bfloat16),
        (TensorProto.FLOAT8E4M3FN, ml_dtypes.float8_e4m3fn),
        (TensorProto.FLOAT8E5M2, ml_dtypes.float8_e5m2),
        (TensorProto.FLOAT16, np.float16),
        (TensorProto.BOOL, np.bool_),
        (TensorProto.INT64, np.int64),
        (TensorProto.UINT8, np.uint8),
        (TensorProto.DOUBLE, np.float64),
    ],
)
@pytest.mark.parametrize("name", RUNNING)
def test_types_that_numpy_lacks_go_in_and_come_out(
    name: str, kind: int, dtype: type[np.generic], tmp_path: Path
) -> None:
    ends = targets.find(name).capabilities.ends
    if ends and TensorProto.DataType.Name(kind).lower() not in ends:
        pytest.skip(f"{name} takes no such inputs")
    x = np.array([0, 1, 2]).astype(dtype)
    (y,) = present(name).open(save(tmp_path, kind=kind))({"x": x})
    assert y.dtype == x.dtype
    assert y.tobytes() == x.tobytes()


def test_no_dimensions_in_a_type_that_numpy_lacks(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info("x", TensorProto.BFLOAT16, [])
    result = helper.make_tensor_value_info("y", TensorProto.BFLOAT16, [])
    flag = helper.make_tensor_value_info("f", TensorProto.FLOAT, [])
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Relu", ["f"], ["g"])]
    other = helper.make_tensor_value_info("g", TensorProto.FLOAT, [])
    graph = helper.make_graph(nodes, "main", [value, flag], [result, other])
    opset = [helper.make_opsetid("", 20)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), tmp_path / "m.onnx")
    feeds = {"x": np.array(3, ml_dtypes.bfloat16), "f": np.array(-1, np.float32)}
    y, g = targets.find("ort-cpu").open(tmp_path / "m.onnx")(feeds)
    assert (y.shape, float(y), float(g)) == ((), 3.0, 0.0)


class Lookup(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.head = torch.nn.Linear(64, 8)
        self.table = torch.nn.Embedding(9_000_000, 64)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.table(ids))  # table


def test_too_many_weights_are_told_at_the_line_that_reads_the_largest() -> None:
    with torch.device("meta"):
        model = Lookup().eval()
    report = onnxpert.diagnose(model, (torch.ones(2, dtype=torch.int64),), target="ort-web")
    (found,) = [each for each in report.findings if each.rule == "TGT808"]
    assert found.location is not None
    assert found.location.code.endswith("# table")
    assert found.notes == ("the largest is table.weight, with 2.1 GiB",)
