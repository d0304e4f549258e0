"""Activation functions."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(aten.relu.default)
def relu(op: Emitter, x: ir.Value) -> ir.Value:
    return op.Relu(x)
