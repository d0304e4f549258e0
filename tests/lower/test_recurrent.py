"""Recurrent layers."""

import itertools
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

from tests.lower.same import assert_same

KINDS: dict[str, Any] = {
    "lstm": nn.LSTM,
    "gru": nn.GRU,
    "tanh": nn.RNN,
    "relu": lambda *args, **kwargs: nn.RNN(*args, nonlinearity="relu", **kwargs),
}
FORMS: list[dict[str, Any]] = [
    {},
    {"bias": False},
    {"batch_first": True},
    {"bidirectional": True},
    {"num_layers": 2},
    {"num_layers": 2, "bidirectional": True, "batch_first": True},
]


def states(kind: str, sizes: tuple[int, ...]) -> Any:
    return (torch.randn(sizes), torch.randn(sizes)) if kind == "lstm" else torch.randn(sizes)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
def test_sequences(kind: str, form: dict[str, Any]) -> None:
    layer = KINDS[kind](4, 5, **form).eval()
    depth = form.get("num_layers", 1) * (2 if form.get("bidirectional") else 1)
    x = torch.randn(3, 6, 4)
    batch = 3 if form.get("batch_first") else 6
    assert_same(layer, x)
    if kind == "lstm":
        assert_same(lambda x, h, c: layer(x, (h, c)), x, *states(kind, (depth, batch, 5)))
    else:
        assert_same(layer, x, states(kind, (depth, batch, 5)))
    assert_same(layer, x[0])


@pytest.mark.parametrize("kind", KINDS)
def test_at_other_sizes(kind: str) -> None:
    layer = KINDS[kind](4, 5, 2, bidirectional=True).eval()
    assert_same(
        layer,
        torch.randn(6, 3, 4),
        dynamic=({0: "time", 1: "batch"},),
        others=[[torch.randn(1, 1, 4)], [torch.randn(9, 2, 4)]],
    )


@pytest.mark.parametrize("kind", KINDS)
def test_in_float64(kind: str) -> None:
    layer = KINDS[kind](4, 5, 2, bidirectional=True).double().eval()
    assert_same(layer, torch.randn(6, 3, 4).double())


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_between_layers_is_random(kind: str) -> None:
    layer = KINDS[kind](4, 5, 2, dropout=0.5).train()
    assert_same(layer, torch.randn(6, 3, 4), values=False, nodes=["RandomUniform"])


def test_the_weights_stay_as_they_are() -> None:
    result = assert_same(nn.LSTM(4, 5).eval(), torch.randn(6, 3, 4), nodes=["LSTM"])
    assert {"weight_ih_l0", "weight_hh_l0"} <= set(result.model.graph.initializers)


@pytest.mark.filterwarnings("ignore:LSTM with projections is not supported with oneDNN")
@pytest.mark.parametrize(
    ("bias", "layers", "both"), list(itertools.product([True, False], [1, 2], [True, False]))
)
def test_projected_lstm(bias: bool, layers: int, both: bool) -> None:
    layer = nn.LSTM(4, 5, layers, bias=bias, bidirectional=both, proj_size=3, batch_first=True)
    assert_same(
        layer.eval(),
        torch.randn(3, 6, 4),
        dynamic=({0: "batch", 1: "time"},),
        others=[[torch.randn(1, 1, 4)]],
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", [{}, {"num_layers": 2, "bidirectional": True}])
def test_packed_sequences(kind: str, form: dict[str, Any]) -> None:
    layer = KINDS[kind](4, 5, **form).eval()
    depth = form.get("num_layers", 1) * (2 if form.get("bidirectional") else 1)
    overload: Any = {
        "lstm": torch.ops.aten.lstm.data,
        "gru": torch.ops.aten.gru.data,
        "tanh": torch.ops.aten.rnn_tanh.data,
        "relu": torch.ops.aten.rnn_relu.data,
    }[kind]

    class Packed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = layer

        def forward(self, data: torch.Tensor, batch_sizes: torch.Tensor, *hx: torch.Tensor) -> Any:
            state = list(hx) if kind == "lstm" else hx[0]
            flags = (True, layer.num_layers, 0.0, False, layer.bidirectional)
            return overload(data, batch_sizes, state, layer._flat_weights, *flags)

    packed = pack_padded_sequence(torch.randn(6, 3, 4), torch.tensor([6, 4, 1]))
    start = states(kind, (depth, 3, 5))
    hx = start if kind == "lstm" else (start,)
    assert_same(Packed(), packed.data, packed.batch_sizes, *hx)


@pytest.mark.parametrize("bias", [True, False])
def test_cells(bias: bool) -> None:
    x, h = torch.randn(3, 4), torch.randn(3, 5)
    lstm = nn.LSTMCell(4, 5, bias=bias)
    assert_same(lambda x, h, c: lstm(x, (h, c)), x, h, torch.randn(3, 5))
    assert_same(lstm, x)
    assert_same(nn.GRUCell(4, 5, bias=bias), x, h)
    assert_same(nn.GRUCell(4, 5, bias=bias), x[0], h[0])
    assert_same(nn.RNNCell(4, 5, bias=bias), x, h)
    assert_same(nn.RNNCell(4, 5, bias=bias, nonlinearity="relu"), x)
