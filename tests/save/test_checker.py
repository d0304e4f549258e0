"""The standard's own checker sees every node and no weight."""

from __future__ import annotations

import cProfile
from typing import Any

import onnx
import onnx_ir as ir
import pytest
import torch

from onnxpert.save import check


def test_a_right_model_has_no_problems(lower: Any) -> None:
    assert check(lower({"w": torch.ones(40, 50), "s": torch.ones(3)})) == ()


def test_an_operator_that_does_not_exist(lower: Any) -> None:
    problems = check(lower({"w": torch.ones(3)}, op="Plus"))
    assert any("No Op registered for Plus" in problem for problem in problems)


def test_types_that_do_not_fit(lower: Any) -> None:
    lowered = lower({"w": torch.ones(500)})
    add = lowered.model.graph[-1]
    cast = ir.AttrInt64("to", ir.DataType.INT64.value)
    lowered.model.graph[0].attributes["to"] = cast
    problems = check(lowered)
    assert problems
    assert add.name in " ".join(problems)


def test_shapes_that_do_not_fit(lower: Any) -> None:
    # Strict inference: the declared shape of a result contradicts the weights.
    lowered = lower({"w": torch.ones(40, 50)})
    lowered.model.graph.outputs[0].shape = ir.Shape(["n", 3])
    assert any("node_2" in problem or "rank" in problem for problem in check(lowered))


def test_a_weight_used_in_a_subgraph_only(lower: Any) -> None:
    lowered = lower({"w": torch.ones(40, 50)})
    graph = lowered.model.graph
    weight = graph.initializers["w"]
    branches = []
    for name in ("then", "else"):
        node = ir.Node("", "ReduceSum", [weight], [ir.AttrInt64("keepdims", 0)])
        node.outputs[0].name = f"{name}_sum"
        node.outputs[0].type = ir.TensorType(ir.DataType.FLOAT)
        node.outputs[0].shape = ir.Shape([])
        branches.append(ir.Graph([], node.outputs, nodes=[node], name=name))
    flag = ir.Value(name="flag", type=ir.TensorType(ir.DataType.BOOL), shape=ir.Shape([]))
    graph.inputs.append(flag)
    attributes = [
        ir.AttrGraph(f"{name}_branch", branch)
        for name, branch in zip(("then", "else"), branches, strict=True)
    ]
    chosen = ir.Node("", "If", [flag], attributes, name="if")
    chosen.outputs[0].name = "chosen"
    graph.insert_before(graph[0], chosen)
    assert check(lowered) == ()


def test_an_opset_beyond_the_checker_is_said(lower: Any) -> None:
    known = onnx.defs.onnx_opset_version()
    (problem,) = check(lower({"w": torch.ones(3)}, opset=known + 1))
    assert problem == (
        f"opset {known + 1} cannot be checked: onnx {onnx.__version__} knows up to {known}"
    )


def test_operators_of_a_runtime_are_not_the_standards_business(lower: Any) -> None:
    lowered = lower({"w": torch.ones(500)})
    graph = lowered.model.graph
    node = ir.Node("com.microsoft", "Gelu", [graph[-1].outputs[0]], name="gelu")
    node.outputs[0].name = "gelu"
    graph.append(node)
    lowered.model.opset_imports["com.microsoft"] = 1
    assert check(lowered) == ()


def test_weights_are_not_copied(lower: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lowered = lower({"w": torch.ones(1000, 1000)})
    sizes: list[int] = []
    real = onnx.checker.check_model
    monkeypatch.setattr(
        onnx.checker,
        "check_model",
        lambda model, **rest: (sizes.append(model.ByteSize()), real(model, **rest)),
    )
    assert check(lowered) == ()
    assert sizes[0] < 1000


def _calls_to_check(lowered: Any) -> int:
    """Of Python's functions, which every machine counts alike."""
    profile = cProfile.Profile()
    assert profile.runcall(check, lowered) == ()
    return sum(entry.callcount for entry in profile.getstats())


def test_three_times_the_nodes_take_three_times_as_long(lower: Any) -> None:
    few = lower({f"w{i}": torch.ones(300) for i in range(110)})
    many = lower({f"w{i}": torch.ones(300) for i in range(330)})
    _calls_to_check(few)  # what is only done once
    assert _calls_to_check(many) < 3.5 * _calls_to_check(few)
