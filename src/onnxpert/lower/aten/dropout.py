"""Dropout in all its kinds: nothing at all in evaluation, and random in training."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.creation import filled
from onnxpert.lower.aten.random import uniform_numbers
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call
from onnxpert.lower.symbols import Size

aten = torch.ops.aten
# The value at which SELU's negative side ends, and what alpha dropout puts in place of a number.
_SELU_FLOOR = -1.7580993408473766


@lowering(aten.dropout.default)
def dropout(op: Emitter, input: ir.Value, p: float, train: bool) -> ir.Value:
    return _dropped(op, input, p)[0] if train and p > 0 else input


@lowering(aten.native_dropout.default)
def native_dropout(
    op: Emitter, input: ir.Value, p: float, train: bool | None
) -> tuple[ir.Value, ir.Value]:
    if train is False or p == 0:
        return input, filled(op, op.shape(input), True, torch.bool)
    return _dropped(op, input, p)


def _dropped(op: Emitter, x: ir.Value, p: float) -> tuple[ir.Value, ir.Value]:
    if p == 1:
        nothing = filled(op, op.shape(x), 0, op.dtype(x))
        return nothing, filled(op, op.shape(x), False, torch.bool)
    # Not ONNX's own Dropout: ONNX Runtime (1.31) seeds its numbers anew at each run, with seeds so
    # near each other that the first element is dropped every time.
    mask = op.GreaterOrEqual(uniform_numbers(op, op.shape(x), torch.float32), p)
    kept = call(op, "Mul", op.cast(mask, op.dtype(x)), 1 / (1 - p))
    return call(op, "Mul", x, kept), op.describe(mask, op.shape(x), torch.bool)


@lowering(aten.feature_dropout.default)
def feature_dropout(op: Emitter, input: ir.Value, p: float, train: bool) -> ir.Value:
    if not train or p == 0:
        return input
    kept = _kept(op, input, _channels(op, input), p)
    return call(op, "Mul", input, call(op, "Mul", kept, 1 / (1 - p) if p < 1 else 0.0))


@lowering(aten.alpha_dropout.default)
def alpha_dropout(op: Emitter, input: ir.Value, p: float, train: bool) -> ir.Value:
    return _alpha(op, input, op.shape(input), p) if train and p > 0 else input


@lowering(aten.feature_alpha_dropout.default)
def feature_alpha_dropout(op: Emitter, input: ir.Value, p: float, train: bool) -> ir.Value:
    return _alpha(op, input, _channels(op, input), p) if train and p > 0 else input


def _channels(op: Emitter, x: ir.Value) -> tuple[Size, ...]:
    """One decision for a whole channel."""
    sizes = op.shape(x)
    return (*sizes[:2], *(1 for _ in sizes[2:]))


def _kept(op: Emitter, x: ir.Value, sizes: Any, p: float) -> ir.Value:
    drawn = uniform_numbers(op, sizes, torch.float32)
    return op.cast(op.GreaterOrEqual(drawn, p), op.dtype(x))


def _alpha(op: Emitter, x: ir.Value, sizes: Any, p: float) -> ir.Value:
    """Dropped numbers become SELU's floor, and mean and variance stay what they were."""
    if p == 1:
        return call(op, "Mul", x, 0.0)
    scale = 1 / math.sqrt((_SELU_FLOOR**2 * p + 1) * (1 - p))
    kept = _kept(op, x, sizes, p)
    shift = call(op, "Mul", call(op, "Sub", kept, 1.0), -_SELU_FLOOR * scale)
    shift = call(op, "Add", shift, -_SELU_FLOOR * scale * p)
    return call(op, "Add", call(op, "Mul", x, call(op, "Mul", kept, scale)), shift)
