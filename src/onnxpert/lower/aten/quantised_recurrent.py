"""Recurrent layers that quantise their state at every step, as a Scan over time."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.core.ranges import STEPS_OF
from onnxpert.lower.aten.cells import gru_step, lstm_step
from onnxpert.lower.aten.linear import linear
from onnxpert.lower.aten.quantised import dequantised, quantised, range_of
from onnxpert.lower.aten.stepping import scanned
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering


@lowering(STEPS_OF)
def steps_of(
    op: Emitter,
    kind: str,
    gates: ir.Value,
    states: Sequence[ir.Value],
    weight: ir.Value,
    bias: ir.Value | None,
    reduce_range: bool,
    reverse: bool,
) -> tuple[ir.Value, ...]:
    def step(body: Emitter, given: ir.Value, now: Sequence[ir.Value]) -> Sequence[ir.Value]:
        scale, zero = range_of(body, now[0], reduce_range)
        whole = quantised(body, now[0], scale, zero, 0, 255, torch.uint8)
        own = linear(body, dequantised(body, whole, scale, zero, torch.uint8), weight, bias)
        if kind == "gru":
            return (gru_step(body, given, own, now[0]),)
        return lstm_step(body, body.Add(given, own), now[1])

    return tuple(scanned(op, gates, states, step, reverse))
