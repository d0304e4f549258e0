"""Recurrent layers: LSTM, GRU and the plain RNN, over whole sequences."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.dropout import dropout as dropped
from onnxpert.lower.aten.packing import Packing
from onnxpert.lower.aten.stepping import gru_stepper, lstm_stepper, plain_stepper, stepped
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@dataclass(frozen=True, slots=True)
class Cell:
    """One kind of layer: ONNX's name, the order it wants torch's gates in, and its attributes."""

    name: str
    gates: tuple[int, ...]
    stepper: Any
    activation: str | None = None


# torch has in, forget, cell, out; ONNX in, out, forget, cell.
LSTM = Cell("LSTM", (0, 3, 1, 2), lstm_stepper)
# torch has reset, update, new; ONNX update, reset, hidden.
GRU = Cell("GRU", (1, 0, 2), gru_stepper)
TANH = Cell("RNN", (0,), plain_stepper("Tanh"), "Tanh")
RELU = Cell("RNN", (0,), plain_stepper("Relu"), "Relu")


@dataclass(frozen=True, slots=True)
class Run:
    """What is asked of a whole stack of layers."""

    cell: Cell
    params: Sequence[ir.Value]
    has_biases: bool
    num_layers: int
    bidirectional: bool
    dropout: float  # between the layers

    @property
    def directions(self) -> int:
        return 2 if self.bidirectional else 1

    @property
    def projected(self) -> bool:
        """Whether each direction has one more weight: the projection of an LSTM's state."""
        return len(self.weights(0)[0]) % 2 == 1

    def weights(self, layer: int) -> list[Sequence[ir.Value]]:
        """Per direction of a layer: the input's weight, the state's, and their biases."""
        each = len(self.params) // (self.num_layers * self.directions)
        first = layer * self.directions
        return [
            self.params[index * each : (index + 1) * each]
            for index in range(first, first + self.directions)
        ]


# ---- one layer -----------------------------------------------------------------------------


def _gates(op: Emitter, weight: ir.Value, order: Sequence[int]) -> ir.Value:
    """The rows of a weight with torch's gates in ONNX's order.

    The weights stay in the file as the state dict has them; runtimes do this when they load."""
    if len(order) == 1:
        return weight
    size = op.shape(weight)[0] // len(order)
    parts = op.split(weight, [size] * len(order), 0)
    return op.Concat(*(parts[gate] for gate in order), axis=0)


def _stacked(op: Emitter, values: Sequence[ir.Value]) -> ir.Value:
    """With the axis of directions in front."""
    lifted = [op.unsqueeze(value, 0) for value in values]
    return lifted[0] if len(lifted) == 1 else op.Concat(*lifted, axis=0)


def _layer(
    op: Emitter,
    run: Run,
    layer: int,
    x: ir.Value,
    states: Sequence[ir.Value],
    lengths: ir.Value | None,
) -> tuple[ir.Value, list[ir.Value]]:
    """One layer on (time, batch, features): its sequence, and its last states."""
    cell, groups = run.cell, run.weights(layer)
    weight, recurrence = (
        _stacked(op, [_gates(op, group[place], cell.gates) for group in groups]) for place in (0, 1)
    )
    bias = None
    if run.has_biases:
        bias = _stacked(
            op,
            [
                op.Concat(*(_gates(op, group[place], cell.gates) for place in (2, 3)), axis=0)
                for group in groups
            ],
        )
    hidden = op.shape(groups[0][1])[1]
    outputs = op.emit(
        cell.name,
        x,
        weight,
        recurrence,
        bias,
        lengths,
        *states,
        hidden_size=hidden,
        direction="bidirectional" if run.bidirectional else None,
        activations=[cell.activation] * run.directions if cell.activation else None,
        linear_before_reset=1 if cell is GRU else None,
        _outputs=1 + len(states),
    )
    time, batch, _ = op.shape(x)
    op.describe(outputs[0], (time, run.directions, batch, hidden))
    last = [op.describe(one, (run.directions, batch, hidden)) for one in outputs[1:]]
    if run.directions == 1:
        return op.squeeze(outputs[0], 1), last
    turned = op.Transpose(outputs[0], perm=[0, 2, 1, 3])
    return op.reshape(turned, (time, batch, run.directions * hidden)), last


# ---- the stack -----------------------------------------------------------------------------


def _stack(
    op: Emitter, run: Run, x: ir.Value, states: Sequence[ir.Value], lengths: ir.Value | None = None
) -> tuple[ir.Value, ...]:
    per_layer = [op.split(state, [run.directions] * run.num_layers, 0) for state in states]
    ends: list[list[ir.Value]] = [[] for _ in states]
    for layer in range(run.num_layers):
        x, last = _layer(op, run, layer, x, [state[layer] for state in per_layer], lengths)
        for kept, value in zip(ends, last, strict=True):
            kept.append(value)
        if run.dropout and layer + 1 < run.num_layers:
            x = dropped(op, x, run.dropout, True)
    joined = (kept[0] if len(kept) == 1 else op.Concat(*kept, axis=0) for kept in ends)
    return x, *joined


def _on_sequences(
    op: Emitter, run: Run, input: ir.Value, states: Sequence[ir.Value], batch_first: bool
) -> tuple[ir.Value, ...]:
    x = op.Transpose(input, perm=[1, 0, 2]) if batch_first else input
    if run.projected or op.dtype(input) is torch.float64:
        if run.dropout and run.num_layers > 1:
            raise Refusal("dropout between layers with a projection, or in float64")
        layers = [run.weights(layer) for layer in range(run.num_layers)]
        y, *ends = stepped(op, x, states, layers, run.has_biases, run.cell.stepper)
    else:
        y, *ends = _stack(op, run, x, states)
    return op.Transpose(y, perm=[1, 0, 2]) if batch_first else y, *ends


def _on_packed(
    op: Emitter, run: Run, data: ir.Value, batch_sizes: ir.Value, states: Sequence[ir.Value]
) -> tuple[ir.Value, ...]:
    if run.projected or op.dtype(data) is torch.float64:
        raise Refusal("a packed sequence through an LSTM with a projection, or in float64")
    packing = Packing(op, data, batch_sizes, op.shape(states[0])[1])
    y, *ends = _stack(op, run, packing.padded(data), states, packing.lengths())
    return packing.packed(y), *ends


@lowering(aten.lstm.input)
def lstm(
    op: Emitter,
    input: ir.Value,
    hx: Sequence[ir.Value],
    params: Sequence[ir.Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
    batch_first: bool,
) -> tuple[ir.Value, ...]:
    run = Run(LSTM, params, has_biases, num_layers, bidirectional, dropout if train else 0.0)
    return _on_sequences(op, run, input, hx, batch_first)


@lowering(aten.lstm.data)
def lstm_packed(
    op: Emitter,
    data: ir.Value,
    batch_sizes: ir.Value,
    hx: Sequence[ir.Value],
    params: Sequence[ir.Value],
    has_biases: bool,
    num_layers: int,
    dropout: float,
    train: bool,
    bidirectional: bool,
) -> tuple[ir.Value, ...]:
    run = Run(LSTM, params, has_biases, num_layers, bidirectional, dropout if train else 0.0)
    return _on_packed(op, run, data, batch_sizes, hx)


def _sequence_lowering(overload: Any, cell: Cell) -> Any:
    @lowering(overload)
    def recurrent(
        op: Emitter,
        input: ir.Value,
        hx: ir.Value,
        params: Sequence[ir.Value],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[ir.Value, ...]:
        run = Run(cell, params, has_biases, num_layers, bidirectional, dropout if train else 0.0)
        return _on_sequences(op, run, input, [hx], batch_first)

    return recurrent


def _packed_lowering(overload: Any, cell: Cell) -> Any:
    @lowering(overload)
    def recurrent_packed(
        op: Emitter,
        data: ir.Value,
        batch_sizes: ir.Value,
        hx: ir.Value,
        params: Sequence[ir.Value],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
    ) -> tuple[ir.Value, ...]:
        run = Run(cell, params, has_biases, num_layers, bidirectional, dropout if train else 0.0)
        return _on_packed(op, run, data, batch_sizes, [hx])

    return recurrent_packed


gru = _sequence_lowering(aten.gru.input, GRU)
rnn_tanh = _sequence_lowering(aten.rnn_tanh.input, TANH)
rnn_relu = _sequence_lowering(aten.rnn_relu.input, RELU)
gru_packed = _packed_lowering(aten.gru.data, GRU)
rnn_tanh_packed = _packed_lowering(aten.rnn_tanh.data, TANH)
rnn_relu_packed = _packed_lowering(aten.rnn_relu.data, RELU)
