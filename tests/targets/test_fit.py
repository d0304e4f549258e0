"""The tables of the targets: what they foresee is what the runtime does."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import onnx_ir as ir
import pytest
from onnx import TensorProto, helper

from onnxpert import targets
from onnxpert.core.types import Beyond, Limit
from onnxpert.targets.fit import fit
from onnxpert.targets.functions import expanded
from onnxpert.targets.kernels import installed, parse, stored
from onnxpert.targets.runtimes import openvino, ort_cpu, tensorrt

_WIDTHS = (8, 16, 32, 64)
KINDS = {
    name: getattr(TensorProto, name)
    for name in (
        *("FLOAT", "DOUBLE", "FLOAT16", "BFLOAT16", "BOOL"),
        *(f"INT{width}" for width in _WIDTHS),
        *(f"UINT{width}" for width in _WIDTHS),
    )
}
UNARY = (
    "Abs",
    "Acos",
    "Celu",
    "Ceil",
    "Cosh",
    "Elu",
    "Erf",
    "Exp",
    "Floor",
    "HardSwish",
    "Identity",
)
UNARY += ("IsNaN", "LeakyRelu", "Log", "Mish", "Neg", "Not", "Reciprocal", "Relu", "Round", "Selu")
UNARY += ("Sigmoid", "Sign", "Sin", "Softplus", "Sqrt", "Tan", "Tanh", "ThresholdedRelu")
BINARY = (
    "Add",
    "And",
    "BitShift",
    "BitwiseAnd",
    "Div",
    "Equal",
    "Greater",
    "LessOrEqual",
    "MatMul",
)
BINARY += ("Max", "Mod", "Mul", "Or", "Pow", "PRelu", "Sub", "Xor")


def single(
    op_type: str, kind: int, inputs: int = 1, opset: int = 20, **attributes: int
) -> onnx.ModelProto:
    """A model of one node, its shapes unknown."""
    schema = onnx.defs.get_schema(op_type, opset, "")
    names = [f"x{index}" for index in range(inputs)]
    node = helper.make_node(op_type, names, ["y"], name="the node", **attributes)
    # What an operator does not give in the type that it reads, it gives as bool here.
    read = schema.inputs[0].type_str
    result = kind if schema.outputs[0].type_str == read else TensorProto.BOOL
    make = helper.make_tensor_value_info
    graph = helper.make_graph(
        [node], "g", [make(name, kind, None) for name in names], [make("y", result, None)]
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def beyond(model: onnx.ModelProto, target: str, *limits: Limit) -> list[Beyond]:
    found = fit(ir.from_proto(model), targets.find(target), lambda node: None).beyond
    return [each for each in found if not limits or each.limit in limits]


def cases() -> Iterator[tuple[str, int, int]]:
    for inputs, names in ((1, UNARY), (2, BINARY)):
        for name in names:
            schema = onnx.defs.get_schema(name, 20, "")
            allowed = {
                each.type_param_str: each.allowed_type_strs for each in schema.type_constraints
            }
            for kind, number in KINDS.items():
                if f"tensor({kind.lower()})" in allowed[schema.inputs[0].type_str]:
                    yield name, number, inputs


def refusal(model: onnx.ModelProto) -> str:
    try:
        ort_cpu.session(model.SerializeToString())
    except Exception as error:
        return str(error)
    return ""


def test_what_is_foreseen_of_onnx_runtime_is_what_it_does() -> None:
    wrong = []
    refused = 0
    for name, kind, inputs in cases():
        attributes = {"direction": "LEFT"} if name == "BitShift" else {}
        fmod = {"fmod": 1} if name == "Mod" and kind in (1, 10, 11, 16) else {}
        model = single(name, kind, inputs, **attributes, **fmod)
        foreseen = bool(beyond(model, "ort-cpu", Limit.OPERATOR, Limit.DTYPE))
        reason = refusal(model)
        assert not reason or "Could not find an implementation" in reason, (name, kind)
        refused += bool(reason)
        if foreseen != bool(reason):
            wrong.append((name, kind, reason))
    assert not wrong
    assert refused > 20


@pytest.mark.parametrize("name", sorted(openvino._MISSING))
def test_what_is_missing_in_openvino_is_refused_there(name: str) -> None:
    if openvino.absent():
        pytest.skip(openvino.absent())
    runtime = pytest.importorskip("openvino")
    schema = onnx.defs.get_schema(name)
    inputs = [f"x{index}" for index in range(schema.min_input)]
    make = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node(name, inputs, ["y"])],
        "g",
        [make(each, TensorProto.FLOAT, [2, 3, 4, 4]) for each in inputs],
        [make("y", TensorProto.FLOAT, None)],
    )
    opset = helper.make_opsetid("", schema.since_version)
    model = helper.make_model(graph, opset_imports=[opset], ir_version=10)
    with pytest.raises(RuntimeError, match="No conversion rule found"):
        runtime.Core().read_model(model.SerializeToString())


@pytest.mark.parametrize("name", sorted(targets.find("onnx-reference").capabilities.missing))
def test_what_is_missing_in_the_reference_is_refused_there(name: str) -> None:
    from onnx.reference.op_run import RuntimeImplementationError
    from onnx.reference.ops import load_op

    with pytest.raises(RuntimeImplementationError):
        load_op("", name, 20)


def test_every_operator_named_is_one_of_the_standard() -> None:
    known = {schema.name for schema in onnx.defs.get_all_schemas_with_history()}
    assert known >= openvino._MISSING
    assert known >= set(tensorrt._OPERATORS)
    assert known >= targets.find("ort-mobile").capabilities.reduced
    assert {each.op_type for each in tensorrt._RESTRICTIONS} <= set(tensorrt._OPERATORS)


@pytest.mark.parametrize(
    ("op_type", "kind", "inputs", "limit"),
    [
        ("BitwiseAnd", TensorProto.INT32, 2, Limit.OPERATOR),
        ("Add", TensorProto.INT8, 2, Limit.DTYPE),
        ("Add", TensorProto.DOUBLE, 2, Limit.NARROWER),
        ("Add", TensorProto.INT64, 2, None),
    ],
)
def test_tensorrt_by_its_documented_table(
    op_type: str, kind: int, inputs: int, limit: Limit | None
) -> None:
    found = beyond(single(op_type, kind, inputs), "tensorrt")
    assert [each.limit for each in found] == ([limit] if limit else [])
    assert all(each.node == "the node" for each in found)


def test_what_has_no_cuda_kernel_runs_on_the_cpu() -> None:
    (found,) = beyond(single("Det", TensorProto.FLOAT), "ort-cuda")
    assert found.limit is Limit.ELSEWHERE
    assert not beyond(single("Relu", TensorProto.FLOAT), "ort-cuda")
    (neither,) = beyond(single("Det", TensorProto.DOUBLE), "ort-cuda")
    assert neither.limit is Limit.DTYPE


def test_the_stored_table_is_whole() -> None:
    kernels = stored("cuda_kernels")
    assert len(kernels.table) > 200
    assert kernels.has("", "Add", 14, {"T": "tensor(float)"})
    assert not kernels.has("", "Add", 14, {"T": "tensor(bool)"})
    assert ("com.microsoft", "Attention") in kernels.table


def test_a_line_of_a_table() -> None:
    kernels = parse(["Add 13-13 T=float,int32", "x.y::Op 1-"])
    assert kernels.has("", "Add", 13, {"T": "tensor(int32)"})
    assert not kernels.has("", "Add", 14, {"T": "tensor(float)"})
    assert kernels.knows("x.y", "Op", 1)


def test_a_constant_beyond_int32_on_a_target_that_has_none() -> None:
    big = onnx.numpy_helper.from_array(np.array([2**40]), "big")
    model = single("Add", TensorProto.INT64, 2)
    model.graph.initializer.append(big)
    model.graph.node[0].input[1] = "big"
    (found,) = beyond(model, "openvino")
    assert (found.limit, found.detail) == (Limit.NARROWER, "int64 as int32")
    assert not beyond(model, "ort-cpu")


def test_an_operator_of_one_runtime_is_not_the_standard() -> None:
    model = single("Relu", TensorProto.FLOAT)
    model.graph.node[0].op_type, model.graph.node[0].domain = "QuickGelu", "com.microsoft"
    model.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    (found,) = beyond(model, "onnx")
    assert found.limit is Limit.OPERATOR
    assert not beyond(model, "ort-cpu")


def test_a_function_holds_until_one_of_its_operators_changes() -> None:
    node = ir.from_proto(single("HardSwish", TensorProto.DOUBLE)).graph[0]
    body = expanded(node, 20)
    assert body is not None
    assert {each.op_type for each in body.graph} == {"HardSigmoid", "Mul"}
    assert expanded(ir.from_proto(single("Relu", TensorProto.INT64)).graph[0], 20) is None


def test_a_table_that_is_written_down_says_the_same() -> None:
    path = Path(__file__).parents[2] / "tools" / "read_kernels.py"
    spec = importlib.util.spec_from_file_location("read_kernels", path)
    assert spec is not None
    assert spec.loader is not None
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    written, asked = parse(tool.lines("CPUExecutionProvider")), installed("ort-cpu")
    assert asked is not None
    for name, kind, since in (("Add", "float", 14), ("Add", "bool", 14), ("Relu", "int64", 14)):
        types = {"T": f"tensor({kind})"}
        assert written.has("", name, since, types) == asked.has("", name, since, types)
    newer = {key for key, kernels in asked.table.items() if any(k.last >= 13 for k in kernels)}
    assert set(written.table) == {key for key in newer if key[0] in tool.DOMAINS}
