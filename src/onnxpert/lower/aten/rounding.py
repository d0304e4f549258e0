"""Rounding to whole numbers, to decimals and into a range of finite ones."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen

aten = torch.ops.aten


def _whole(op: Emitter, name: str, x: ir.Value) -> ir.Value:
    return call(op, name, x) if op.dtype(x).is_floating_point else x


@lowering(aten.floor.default)
def floor(op: Emitter, x: ir.Value) -> ir.Value:
    return _whole(op, "Floor", x)


@lowering(aten.ceil.default)
def ceil(op: Emitter, x: ir.Value) -> ir.Value:
    return _whole(op, "Ceil", x)


@lowering(aten.trunc.default, aten.fix.default)
def trunc(op: Emitter, x: ir.Value) -> ir.Value:
    if not op.dtype(x).is_floating_point:
        return x
    return call(op, "Mul", call(op, "Sign", x), call(op, "Floor", call(op, "Abs", x)))


@lowering(aten.frac.default)
def frac(op: Emitter, x: ir.Value) -> ir.Value:
    return call(op, "Sub", x, trunc(op, x))


@lowering(aten.round.default, aten.round.decimals, aten.special_round.default)
def round(op: Emitter, x: ir.Value, decimals: int = 0) -> ir.Value:
    if decimals == 0 or not op.dtype(x).is_floating_point:
        return _whole(op, "Round", x)
    there, back = ("Mul", "Div") if decimals > 0 else ("Div", "Mul")
    unit = 10.0 ** (decimals if decimals > 0 else -decimals)
    return call(op, back, call(op, "Round", call(op, there, x, unit)), unit)


@lowering(aten.nan_to_num.default)
def nan_to_num(
    op: Emitter,
    x: ir.Value,
    nan: float | None = None,
    posinf: float | None = None,
    neginf: float | None = None,
) -> ir.Value:
    dtype = op.dtype(x)
    if not dtype.is_floating_point:
        return x
    limits = torch.finfo(dtype)
    finite = chosen(op, call(op, "IsNaN", x), op.scalar(nan or 0.0, dtype), x)
    if posinf is None and neginf is None:
        return call(op, "Clip", finite, limits.min, limits.max)
    above = op.scalar(limits.max if posinf is None else posinf, dtype)
    below = op.scalar(limits.min if neginf is None else neginf, dtype)
    finite = chosen(op, call(op, "IsInf", x, detect_negative=0), above, finite)
    return chosen(op, call(op, "IsInf", x, detect_positive=0), below, finite)
