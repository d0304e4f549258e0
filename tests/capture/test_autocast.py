"""Operators that hold products compute under autocast as they do in the model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from onnxpert import diagnose
from onnxpert.report import Report

X = torch.linspace(-1, 1, 80).reshape(2, 5, 8)


class Under(nn.Module):
    def __init__(self, inner: Callable[..., Any], dtype: torch.dtype) -> None:
        super().__init__()
        self.inner = inner
        self.dtype = dtype

    def forward(self, x: Tensor) -> Any:
        with torch.autocast("cpu", dtype=self.dtype):
            return self.inner(x)


def outcome(inner: Callable[..., Any], dtype: torch.dtype, **options: Any) -> Report:
    torch.manual_seed(0)
    model = Under(inner, dtype).eval()
    return diagnose(model, (X,), **options)


@pytest.mark.parametrize(
    "call",
    [
        pytest.param(lambda x: torch.einsum("bij,bkj->bik", x, x), id="einsum"),
        pytest.param(lambda x: torch.tensordot(x, x, ([2], [2])), id="tensordot"),
        pytest.param(lambda x: torch.linalg.multi_dot([x[0], x[1].T, x[0]]), id="multi_dot"),
        pytest.param(lambda x: torch.inner(x, x), id="inner"),
    ],
)
def test_a_product_by_another_name(call: Callable[..., Any]) -> None:
    report = outcome(call, torch.bfloat16)
    assert report.ok, report
    assert report.outputs[0].partition(": ")[2].startswith("bfloat16")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "layer",
    [
        pytest.param(lambda: nn.GRU(8, 6, bidirectional=True), id="gru"),
        pytest.param(lambda: nn.RNN(8, 6), id="rnn"),
        pytest.param(lambda: nn.LSTM(8, 6, proj_size=3), id="projected lstm"),
    ],
)
def test_recurrent_layers(layer: Callable[[], nn.Module], dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    report = outcome(layer(), dtype, dynamic_shapes={"x": {0: "time", 1: "batch"}})
    assert report.ok, report


def test_an_lstm_gives_what_its_kernel_gives() -> None:
    torch.manual_seed(0)
    layer = nn.LSTM(8, 6, batch_first=True)
    with torch.no_grad():
        kinds = [one.dtype for one in (Under(layer, torch.bfloat16)(X)[0], *layer(X)[1])]
    report = outcome(layer, torch.bfloat16)
    assert report.ok, report
    assert str(kinds[0]).removeprefix("torch.") in report.outputs[0]


@pytest.mark.parametrize("cell", [nn.LSTMCell, nn.GRUCell])
def test_cells(cell: type[nn.Module]) -> None:
    torch.manual_seed(0)
    inner = cell(8, 6)
    report = outcome(lambda x: inner(x[0]), torch.bfloat16)
    assert report.ok, report


def test_a_region_that_is_switched_off_again() -> None:
    def partly(x: Tensor) -> Tensor:
        with torch.autocast("cpu", enabled=False):
            return torch.einsum("bij,bkj->bik", x, x)

    report = outcome(partly, torch.bfloat16)
    assert report.ok, report
    assert "float32" in report.outputs[0]


def test_the_fast_path_of_a_transformer_layer_is_no_chance() -> None:
    torch.manual_seed(0)
    report = outcome(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), torch.bfloat16)
    assert report.ok, report
