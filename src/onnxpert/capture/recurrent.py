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
}
