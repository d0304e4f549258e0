"""Calls that change nothing a file can show: alias, detach, contiguous, and a plain copy."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.aten.reshaping import spread
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(
    aten.alias.default,
    aten.alias_copy.default,
    aten.detach.default,
    aten.detach_copy.default,
    aten.contiguous.default,
    aten.lift.default,
    aten.lift_fresh.default,
    aten.lift_fresh_copy.default,
    aten.resolve_conj.default,
    aten.resolve_neg.default,
)
def alias(op: Emitter, x: ir.Value) -> ir.Value:
    return x


@lowering(aten.copy.default)
def copy(op: Emitter, x: ir.Value, src: ir.Value, non_blocking: bool = False) -> ir.Value:
    return spread(op, op.cast(src, op.dtype(x)), op.shape(x))
