"""Products that ONNX Runtime crashes on while it loads, written so that it does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import onnx_ir as ir
import pytest
import torch
from torch import Tensor, nn

import onnxpert
from onnxpert.targets.turned_products import smaller_constant


class Product(nn.Module):
    def __init__(self, call: Callable[[Tensor, Tensor], Tensor], weight: Tensor) -> None:
        super().__init__()
        self.call = call
        self.weight = nn.Parameter(weight, requires_grad=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.call(x, self.weight)


HALF = torch.randn(2, 6, 8).half()


@pytest.mark.parametrize(
    ("call", "weight", "x"),
    [
        (lambda x, w: x.transpose(0, 1) @ w, torch.randn(8, 3).half(), HALF),
        (lambda x, w: x.transpose(0, 1) @ w, torch.randn(8).half(), HALF),
        (lambda x, w: nn.functional.linear(x.permute(1, 2, 0), w), torch.randn(3, 2).half(), HALF),
        (lambda x, w: w @ x.transpose(0, 1), torch.randn(3, 2).half(), HALF),
        (lambda x, w: torch.cat([x, x], 1).transpose(0, 1) @ w, torch.randn(8, 3).half(), HALF),
        (lambda x, w: x.transpose(0, 1).float() @ w, torch.randn(8, 3), torch.rand(2, 6, 8) > 0.5),
        (lambda x, w: x.transpose(0, 1).float() @ w, torch.randn(8, 3), HALF.bfloat16()),
    ],
    ids=["half", "vector", "linear", "left", "cat", "bool", "bfloat16"],
)
def test_a_turned_batch_times_a_weight(
    call: Callable[[Tensor, Tensor], Tensor], weight: Tensor, x: Tensor, tmp_path: Path
) -> None:
    path = tmp_path / "m.onnx"
    model = Product(call, weight).eval()
    # A crash of the runtime would end the tests: the file is looked at before it is run.
    onnxpert.export(model, (x,), path, verify=False, dynamic_shapes="auto")
    file = ir.load(path)
    assert any(node.op_type == "Transpose" for node in file.graph)
    assert all(smaller_constant(node) is None for node in file.graph)
    assert onnxpert.export(model, (x,), path, dynamic_shapes="auto").ok


def test_a_weight_that_nothing_is_wrong_with_is_left_alone(tmp_path: Path) -> None:
    model = Product(lambda x, w: x.transpose(0, 1) @ w, torch.randn(8, 3)).eval()
    onnxpert.export(model, (HALF.float(),), tmp_path / "m.onnx")
    assert [node.op_type for node in ir.load(tmp_path / "m.onnx").graph] == ["Transpose", "MatMul"]
