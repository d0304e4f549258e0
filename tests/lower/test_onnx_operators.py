"""torch.onnx.ops: calls that name an ONNX node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

import onnxpert

Tensor = torch.Tensor


class Attends(torch.nn.Module):
    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return torch.onnx.ops.attention(q, k, v, is_causal=True)[0]


class Rotates(torch.nn.Module):
    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        return torch.onnx.ops.rotary_embedding(x, cos, sin)


class Names(torch.nn.Module):
    def forward(self, x: Tensor) -> Any:
        attributes = {"alpha": 0.5, "kind": "a", "sizes": [1, 2]}
        foo = torch.onnx.ops.symbolic(
            "my::Foo", (x, None, x), attributes, dtype=x.dtype, shape=x.shape, version=2
        )
        halves = torch.onnx.ops.symbolic_multi_out(
            "Split",
            (foo,),
            {"axis": 1, "num_outputs": 2},
            dtypes=(x.dtype, x.dtype),
            shapes=((3, 2), (3, 2)),
        )
        return halves[0], halves[1]


@pytest.mark.parametrize(("opset", "whole"), [(20, False), (23, True)])
@pytest.mark.parametrize("model", [Attends(), Rotates()], ids=["attention", "rotary"])
def test_the_node_where_the_opset_has_it_and_the_body_below(
    model: torch.nn.Module, opset: int, whole: bool
) -> None:
    x = torch.randn(1, 2, 4, 8)
    cache = torch.randn(1, 4, 4)
    args = (x, x + 1, x + 2) if isinstance(model, Attends) else (x, cache, cache + 1)
    report = onnxpert.diagnose(model, args, opset_version=opset)
    assert report.ok, str(report)
    assert report.nodes is not None
    assert (report.nodes == 1) is whole


def test_a_named_node_is_written_as_it_is_said(tmp_path: Path) -> None:
    path = tmp_path / "named.onnx"
    report = onnxpert.export(Names(), (torch.randn(3, 4),), path, verify=False)
    assert {f.rule for f in report.findings} == {"OPS507", "OPS510"}
    foo, split = onnx.load(path).graph.node
    assert (foo.domain, foo.op_type, list(foo.input)) == ("my", "Foo", ["x", "", "x"])
    assert {a.name: onnx.helper.get_attribute_value(a) for a in foo.attribute} == {
        "alpha": 0.5,
        "kind": b"a",
        "sizes": [1, 2],
    }
    assert (split.op_type, len(split.output)) == ("Split", 2)


def test_a_named_node_cannot_be_proven() -> None:
    report = onnxpert.diagnose(Names(), (torch.randn(3, 4),))
    assert not report.ok
    assert "OPS510" in {finding.rule for finding in report.findings}
