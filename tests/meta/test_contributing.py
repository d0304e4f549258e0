"""The samples of CONTRIBUTING.md are true: each one runs, and does what the text says of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx_ir as ir
import pytest
import torch
from onnx import TensorProto, helper

import onnxpert
from onnxpert.core.types import Finding, Loaded, Request, Severity
from onnxpert.diagnose import diagnose
from onnxpert.diagnose.rule import Rule
from onnxpert.load import load
from onnxpert.lower.lowering import Lowering
from onnxpert.report import Report

REPO = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^(`{3,4})python\n(.*?)^\1$", re.MULTILINE | re.DOTALL)
SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)


def samples(title: str) -> list[dict[str, Any]]:
    """The names that each Python block below `## title` defines."""
    text = (REPO / "CONTRIBUTING.md").read_text(encoding="utf-8")
    # Headings of a page stand inside a fence, with spaces before them.
    parts = SECTION.split(text)
    body = dict(zip(parts[1::2], parts[2::2], strict=True))[title]
    found = []
    for _, source in FENCE.findall(body):
        names: dict[str, Any] = {"__name__": "sample"}
        exec(compile(source, f"CONTRIBUTING.md, {title}", "exec"), names)
        found.append(names)
    return found


def test_the_lowering_and_its_test() -> None:
    lowering, test = samples("A lowering")
    assert isinstance(lowering["leaky_relu"], Lowering)
    test["test_leaky_relu"]()


@pytest.mark.parametrize(("section", "times"), [("Example", 1), ("Use instead", 0)])
def test_the_rule(section: str, times: int) -> None:
    (sample,) = samples("A rule")
    rule: Rule = sample["string_argument"]
    names: dict[str, Any] = {"__name__": "sample"}
    exec(rule.section(section).removeprefix("```python").removesuffix("```"), names)
    loaded = load(Request(names["model"], names["args"]))
    assert len(diagnose(loaded, {rule.id: rule})) == times


def test_the_repair() -> None:
    (sample,) = samples("A repair")
    loaded = load(Request(torch.nn.Dropout(), (torch.ones(3),)))
    finding = Finding("CAP901", Severity.WARNING, "the model is in training mode")
    repaired: Loaded = sample["leave_training_mode"].apply(loaded, finding)
    assert (repaired.module.training, repaired.training) == (False, False)
    assert loaded.module.training


def test_the_target(tmp_path: Path) -> None:
    (sample,) = samples("A target")
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Neg", ["x"], ["y"])], "tiny", [x], [y])
    target = sample["reference_cpu"]
    opset = helper.make_opsetid("", target.default_opset)
    onnx.save(helper.make_model(graph, opset_imports=[opset]), tmp_path / "tiny.onnx")
    run = target.open(tmp_path / "tiny.onnx")
    np.testing.assert_array_equal(run({"x": np.float32([1, 2])}), np.float32([[-1, -2]]))


def test_the_way_to_quantise(monkeypatch: pytest.MonkeyPatch) -> None:
    (sample,) = samples("A way to quantise")
    monkeypatch.setattr("onnxpert.engine.quantisation.find", lambda name: sample["int8_weight"])
    torch.manual_seed(0)
    model, args = torch.nn.Linear(64, 64).eval(), (torch.linspace(-1, 1, 128).reshape(2, 64),)
    report = onnxpert.diagnose(model, args, quantize="int8-weight")
    assert report.ok
    assert report.quantised is not None
    assert 0 < report.quantised.error < 0.01


def test_the_strategy() -> None:
    (sample,) = samples("A capture strategy")
    captured = sample["plain_attention"].run(load(Request(torch.nn.ReLU(), (torch.ones(3),))))
    assert captured.strategy == "plain-attention"
    assert torch.ops.aten.relu.default in {node.target for node in captured.root.graph.nodes}


def test_the_pass() -> None:
    (sample,) = samples("An optimise pass")
    node = ir.Node("", "Neg", [ir.Value(name="x")], doc_string="why")
    model = ir.Model(ir.Graph(node.inputs, node.outputs, nodes=[node]), ir_version=10)
    sample["forget_doc_strings"](model)
    assert node.doc_string is None


def test_the_rendering() -> None:
    (sample,) = samples("A rendering")
    made = sample["one_line"]
    assert (made.name, made.suffixes) == ("one-line", (".line",))
    assert made.about == "The verdict alone, for a chat."
    assert made.render(Report(ok=True, model="Net", verify=False)).startswith("Net: exportable")
