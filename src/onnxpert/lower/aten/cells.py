"""Single steps of recurrent layers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linear import linear
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


def lstm_step(op: Emitter, gates: ir.Value, cx: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The output and the new cell state, from the sum of all four gates."""
    size = op.shape(cx)[-1]
    enter, forget, cell, leave = op.split(gates, [size] * 4, op.rank(gates) - 1)
    kept = op.Mul(op.Sigmoid(forget), cx)
    state = op.Add(kept, op.Mul(op.Sigmoid(enter), op.Tanh(cell)))
    return op.Mul(op.Sigmoid(leave), op.Tanh(state)), state


def gru_step(op: Emitter, gates: ir.Value, own: ir.Value, hx: ir.Value) -> ir.Value:
    """The new state, from the input's share of the gates and the state's own."""
    sizes, axis = [op.shape(hx)[-1]] * 3, op.rank(hx) - 1
    reset_x, update_x, new_x = op.split(gates, sizes, axis)
    reset_h, update_h, new_h = op.split(own, sizes, axis)
    reset = op.Sigmoid(op.Add(reset_x, reset_h))
    update = op.Sigmoid(op.Add(update_x, update_h))
    new = op.Tanh(op.Add(new_x, op.Mul(reset, new_h)))
    return op.Add(op.Mul(op.Sub(hx, new), update), new)


@lowering(aten.lstm_cell.default)
def lstm_cell(
    op: Emitter,
    input: ir.Value,
    hx: Sequence[ir.Value],
    w_ih: ir.Value,
    w_hh: ir.Value,
    b_ih: ir.Value | None = None,
    b_hh: ir.Value | None = None,
) -> tuple[ir.Value, ir.Value]:
    gates = op.Add(linear(op, input, w_ih, b_ih), linear(op, hx[0], w_hh, b_hh))
    return lstm_step(op, gates, hx[1])


@lowering(aten.gru_cell.default)
def gru_cell(
    op: Emitter,
    input: ir.Value,
    hx: ir.Value,
    w_ih: ir.Value,
    w_hh: ir.Value,
    b_ih: ir.Value | None = None,
    b_hh: ir.Value | None = None,
) -> ir.Value:
    return gru_step(op, linear(op, input, w_ih, b_ih), linear(op, hx, w_hh, b_hh), hx)


def _plain_cell(overload: Any, activation: str) -> Any:
    @lowering(overload)
    def rnn_cell(
        op: Emitter,
        input: ir.Value,
        hx: ir.Value,
        w_ih: ir.Value,
        w_hh: ir.Value,
        b_ih: ir.Value | None = None,
        b_hh: ir.Value | None = None,
    ) -> ir.Value:
        total = op.Add(linear(op, input, w_ih, b_ih), linear(op, hx, w_hh, b_hh))
        return op.emit(activation, total)

    return rnn_cell


rnn_tanh_cell = _plain_cell(aten.rnn_tanh_cell.default, "Tanh")
rnn_relu_cell = _plain_cell(aten.rnn_relu_cell.default, "Relu")
