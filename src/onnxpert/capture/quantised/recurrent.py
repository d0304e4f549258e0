"""Recurrent layers whose weights are quantised and whose inputs are, anew, at every call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from onnxpert.capture.quantised.weights import of_linear, really
from onnxpert.core.ranges import gru_cell, lstm_cell

if TYPE_CHECKING:
    from onnxpert.capture.quantised.calls import Quantisation

aten = torch.ops.aten
quantized = torch.ops.quantized
Tensor = torch.Tensor


def _cell(packed: Any) -> tuple[Any, Any, bool]:
    """The packed weights for input and state, and whether ranges are reduced."""
    (kind, _, _, numbers, products), _ = really(packed.__getstate__)
    if kind != "quantized_dynamic":
        raise NotImplementedError(f"weights of the kind {kind}")
    return products[0], products[1], bool(numbers and numbers[0])


def _layers(
    q: Quantisation,
    kind: str,
    x: Tensor,
    states: Sequence[Tensor],
    params: Sequence[Any],
    layers: int,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    """Layer by layer, over time first; each direction has a row of the states."""
    x = x.transpose(0, 1) if batch_first else x
    directions = 2 if bidirectional else 1
    ends: list[Sequence[Tensor]] = []
    for layer in range(layers):
        sequences = []
        for reverse in range(directions):
            index = layer * directions + reverse
            own = [state.select(0, index) for state in states]
            y, *last = _direction(q, kind, x, own, params[index], bool(reverse))
            sequences.append(y)
            ends.append(last)
        x = sequences[0] if directions == 1 else torch.cat(sequences, -1)
    joined = [torch.stack(list(each)) for each in zip(*ends, strict=True)]
    return (x.transpose(0, 1) if batch_first else x), *joined


def _direction(
    q: Quantisation, kind: str, x: Tensor, states: Sequence[Tensor], packed: Any, reverse: bool
) -> tuple[Tensor, ...]:
    of_input, of_state, reduce_range = _cell(packed)
    weight, bias = q.floats(q.weights(of_linear, of_input), "input_")
    gates = F.linear(q.in_range(x, reduce_range), weight, bias)
    weight, bias = q.floats(q.weights(of_linear, of_state), "state_")
    return q.steps(kind, gates, states, weight, bias, reduce_range, reverse)


def quantized_lstm(
    q: Quantisation,
    x: Tensor,
    hx: Sequence[Tensor],
    params: Sequence[Any],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
    **_: Any,
) -> tuple[Tensor, ...]:
    return _layers(q, "lstm", x, hx, params, layers, bidirectional, batch_first)


def quantized_gru(
    q: Quantisation,
    x: Tensor,
    hx: Tensor,
    params: Sequence[Any],
    has_biases: bool,
    layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[Tensor, ...]:
    return _layers(q, "gru", x, [hx], params, layers, bidirectional, batch_first)


def _shares(q: Quantisation, x: Tensor, state: Tensor, of_input: Any, of_state: Any) -> Any:
    weight, bias = q.floats(q.weights(of_linear, of_input), "input_")
    given = F.linear(q.in_range(x, True), weight, bias)
    weight, bias = q.floats(q.weights(of_linear, of_state), "state_")
    return given, F.linear(q.in_range(state, True), weight, bias)


def lstm_cell_dynamic(
    q: Quantisation, x: Tensor, hx: Sequence[Tensor], of_input: Any, of_state: Any, *_: Any
) -> tuple[Tensor, Tensor]:
    given, own = _shares(q, x, hx[0], of_input, of_state)
    return lstm_cell(given, own, hx)


def gru_cell_dynamic(
    q: Quantisation, x: Tensor, hx: Tensor, of_input: Any, of_state: Any, *_: Any
) -> Tensor:
    given, own = _shares(q, x, hx, of_input, of_state)
    return gru_cell(given, own, [hx])[0]  # type: ignore[no-any-return]


def _plain_cell(activation: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def kernel(
        q: Quantisation, x: Tensor, hx: Tensor, of_input: Any, of_state: Any, *_: Any
    ) -> Tensor:
        given, own = _shares(q, x, hx, of_input, of_state)
        return activation(given + own)

    return kernel


RECURRENT: dict[Any, Callable[..., Any]] = {
    aten.quantized_lstm.input: quantized_lstm,
    aten.quantized_gru.input: quantized_gru,
    quantized.quantized_lstm_cell_dynamic.default: lstm_cell_dynamic,
    quantized.quantized_gru_cell_dynamic.default: gru_cell_dynamic,
    quantized.quantized_rnn_tanh_cell_dynamic.default: _plain_cell(torch.tanh),
    quantized.quantized_rnn_relu_cell_dynamic.default: _plain_cell(torch.relu),
}
