"""Shapes of recurrent layers, whose own bodies would unroll time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

aten = torch.ops.aten
Tensor = torch.Tensor


def _lstm(input: Tensor, hx: Sequence[Tensor], *rest: Any) -> Any:
    directions = 2 if rest[5] else 1
    output = input.new_empty((*input.shape[:2], hx[0].shape[2] * directions))
    return output, torch.empty_like(hx[0]), torch.empty_like(hx[1])


def _lstm_packed(data: Tensor, _: Tensor, hx: Sequence[Tensor], *rest: Any) -> Any:
    _check_width(data, rest[0])
    directions = 2 if rest[5] else 1
    output = data.new_empty((data.shape[0], hx[0].shape[2] * directions))
    return output, torch.empty_like(hx[0]), torch.empty_like(hx[1])


def _recurrent(input: Tensor, hx: Tensor, *rest: Any) -> Any:
    directions = 2 if rest[5] else 1
    return input.new_empty((*input.shape[:2], hx.shape[2] * directions)), torch.empty_like(hx)


def _recurrent_packed(data: Tensor, _: Tensor, hx: Tensor, *rest: Any) -> Any:
    _check_width(data, rest[0])
    directions = 2 if rest[5] else 1
    return data.new_empty((data.shape[0], hx.shape[2] * directions)), torch.empty_like(hx)


def _cell(input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, *_: Any) -> Any:
    """A step of it; torch's own asks whether the two have as many rows, which only data may know."""
    widths = (input.shape[-1], w_ih.shape[1]), (hx.shape[-1], w_hh.shape[1])
    if input.dim() != 2 or hx.dim() != 2 or any(str(a) != str(b) for a, b in widths):
        return NotImplemented
    if len({tensor.dtype for tensor in (input, hx, w_ih, w_hh)}) > 1:
        return NotImplemented
    torch._check(input.shape[0] == hx.shape[0])  # type: ignore[no-untyped-call]
    return torch.empty_like(hx)


def _lstm_cell(input: Tensor, hx: Sequence[Tensor], *weights: Tensor) -> Any:
    new = _cell(input, hx[0], *weights)
    return new if new is NotImplemented else (new, torch.empty_like(hx[1]))


def _check_width(data: Tensor, weights: Sequence[Tensor]) -> None:
    """Of a packed sequence the layer does not ask how many features it has, and the kernels may not."""
    torch._check(data.shape[1] == weights[0].shape[1])  # type: ignore[no-untyped-call]


RECURRENT: dict[Any, Callable[..., Any]] = {
    aten.lstm.input: _lstm,
    aten.lstm.data: _lstm_packed,
    aten.gru.input: _recurrent,
    aten.rnn_tanh.input: _recurrent,
    aten.rnn_relu.input: _recurrent,
    aten.gru.data: _recurrent_packed,
    aten.rnn_tanh.data: _recurrent_packed,
    aten.rnn_relu.data: _recurrent_packed,
    aten.lstm_cell.default: _lstm_cell,
    aten.gru_cell.default: _cell,
    aten.rnn_tanh_cell.default: _cell,
    aten.rnn_relu_cell.default: _cell,
}
