"""Rounding to integers of a scale, and back: `quantized_decomposed`, and what QAT trains with."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.core.ranges import RANGE_OF
from onnxpert.lower.dtypes import TO_TORCH
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.quantised_product import held
from onnxpert.lower.symbols import is_static

aten = torch.ops.aten
_NARROW = {torch.uint8: 13, torch.int8: 13, torch.uint16: 21, torch.int16: 21}
_SMALLEST_SCALE = 6.1e-5  # below this torch's kernels do not go


def _number(op: Emitter, value: Any, dtype: torch.dtype) -> ir.Value:
    """A scale or zero point as QuantizeLinear wants it: a constant where it can be one."""
    if isinstance(value, ir.Value):
        known = held(value)
        if known is not None:
            return op.const(known.to(dtype))
        return op.cast(value, dtype)
    return op.const(value, dtype)


def _fits(op: Emitter, dtype: torch.dtype) -> bool:
    return dtype in _NARROW and op.opset >= _NARROW[dtype]


def quantised(
    op: Emitter,
    x: ir.Value,
    scale: Any,
    zero_point: Any,
    low: Any,
    high: Any,
    dtype: torch.dtype,
    axis: int | None = None,
) -> ir.Value:
    """The integers of `x`; they keep to a part of their dtype where low and high say so."""
    x = op.cast(x, torch.float32)
    scale = _flat(op, _number(op, scale, torch.float32), axis)
    if not _fits(op, dtype):
        return _counted(op, x, scale, zero_point, low, high, dtype, axis)
    zero_point = _flat(op, _number(op, zero_point, dtype), axis)
    given = {} if axis is None else {"axis": axis % op.rank(x)}
    integers = op.QuantizeLinear(x, scale, zero_point, **given)
    limits = torch.iinfo(dtype)
    if (low, high) == (limits.min, limits.max):
        return integers
    return op.Clip(integers, op.const(low, dtype), op.const(high, dtype))


def _counted(
    op: Emitter,
    x: ir.Value,
    scale: ir.Value,
    zero_point: Any,
    low: Any,
    high: Any,
    dtype: torch.dtype,
    axis: int | None,
) -> ir.Value:
    """The same in floats, for integers that QuantizeLinear of this opset does not give."""
    if dtype.is_floating_point or dtype is torch.int64:
        raise Refusal(f"quantising to {str(dtype).removeprefix('torch.')} is not written yet")
    wide = torch.float64 if dtype is torch.int32 else torch.float32
    zero = _flat(op, _number(op, zero_point, wide), axis)
    steps = op.Round(op.Div(x, _along(op, x, scale, axis)))
    moved = op.Add(op.cast(steps, wide), _along(op, x, zero, axis))
    return op.cast(op.Clip(moved, op.const(low, wide), op.const(high, wide)), dtype)


def dequantised(
    op: Emitter,
    integers: ir.Value,
    scale: Any,
    zero_point: Any,
    dtype: torch.dtype,
    axis: int | None = None,
    out_dtype: torch.dtype | None = None,
) -> ir.Value:
    """The numbers that integers stand for."""
    own = TO_TORCH[integers.dtype] if integers.dtype is not None else dtype
    scale = _flat(op, _number(op, scale, torch.float32), axis)
    if not _fits(op, own) and own is not torch.int32:
        own_zero = _flat(op, _number(op, zero_point, torch.float32), axis)
        centred = op.Sub(op.cast(integers, torch.float32), _along(op, integers, own_zero, axis))
        return op.cast(
            op.Mul(centred, _along(op, integers, scale, axis)), out_dtype or torch.float32
        )
    zero: ir.Value | None = None
    if zero_point is not None and not _is_zero(zero_point):
        zero = _flat(op, _number(op, zero_point, own), axis)
    given = {} if axis is None else {"axis": axis % op.rank(integers)}
    # Some runtimes take a missing one for an int8; ONNX Runtime 1.23 makes a QGemm of scales per
    # channel and a missing one, which then refuses to run.
    if zero is None and (own is torch.uint8 or (axis is not None and own is torch.int8)):
        count = () if axis is None else (op.shape(integers)[axis],)
        zero = op.const(torch.zeros(count, dtype=own)) if is_static(*count) else None
    result = op.DequantizeLinear(integers, scale, zero, **given)
    return op.cast(result, out_dtype or torch.float32)


def _is_zero(value: Any) -> bool:
    known = held(value) if isinstance(value, ir.Value) else torch.tensor(value)
    return known is not None and not bool(known.any())


def _flat(op: Emitter, value: ir.Value, axis: int | None) -> ir.Value:
    """0-d for a whole tensor, 1-d for its channels."""
    wanted = 0 if axis is None else 1
    if op.rank(value) == wanted:
        return value
    return op.reshape(value, () if axis is None else (-1,))


def _along(op: Emitter, x: ir.Value, channels: ir.Value, axis: int | None) -> ir.Value:
    """Numbers per channel, so that they broadcast over `x`."""
    if axis is None:
        return channels
    behind = op.rank(x) - 1 - axis % op.rank(x)
    return op.unsqueeze(channels, *range(1, behind + 1)) if behind else channels


@lowering("quantized_decomposed::quantize_per_tensor")
def quantize_per_tensor(
    op: Emitter,
    input: ir.Value,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: torch.dtype,
) -> ir.Value:
    return quantised(op, input, scale, zero_point, quant_min, quant_max, dtype)


@lowering("quantized_decomposed::dequantize_per_tensor")
def dequantize_per_tensor(
    op: Emitter,
    input: ir.Value,
    scale: Any,
    zero_point: Any,
    quant_min: Any,
    quant_max: Any,
    dtype: torch.dtype,
    out_dtype: torch.dtype | None = None,
) -> ir.Value:
    return dequantised(op, input, scale, zero_point, dtype, None, out_dtype)


@lowering("quantized_decomposed::quantize_per_channel")
def quantize_per_channel(
    op: Emitter,
    input: ir.Value,
    scales: Any,
    zero_points: Any,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
) -> ir.Value:
    return quantised(op, input, scales, zero_points, quant_min, quant_max, dtype, axis)


@lowering("quantized_decomposed::dequantize_per_channel")
def dequantize_per_channel(
    op: Emitter,
    input: ir.Value,
    scales: Any,
    zero_points: Any,
    axis: int,
    quant_min: int,
    quant_max: int,
    dtype: torch.dtype,
    out_dtype: torch.dtype | None = None,
) -> ir.Value:
    return dequantised(op, input, scales, zero_points, dtype, axis, out_dtype)


@lowering("quantized_decomposed::choose_qparams")
def choose_qparams(
    op: Emitter, input: ir.Value, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype
) -> tuple[ir.Value, ir.Value]:
    low, high = _extremes(op, op.cast(input, torch.float32))
    span = op.Div(op.Sub(high, low), float(quant_max - quant_min))
    scale = op.Max(span, op.scalar(eps, torch.float64))
    return _lone(op, scale, _zero_point(op, low, scale, quant_min, quant_max))


@lowering("quantized_decomposed::choose_qparams_symmetric")
def choose_qparams_symmetric(
    op: Emitter, input: ir.Value, quant_min: int, quant_max: int, eps: float, dtype: torch.dtype
) -> tuple[ir.Value, ir.Value]:
    low, high = _extremes(op, op.cast(input, torch.float32))
    span = op.Div(op.Max(op.Neg(low), high), (quant_max - quant_min) / 2)
    scale = op.Max(span, op.scalar(eps, torch.float64))
    return _lone(op, scale, op.scalar(128 if dtype is torch.uint8 else 0, torch.float64))


def _lone(op: Emitter, scale: ir.Value, zero_point: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Tensors of one element, as torch has them, in the precision it goes on in."""
    whole = op.cast(zero_point, torch.int64)
    return op.reshape(op.cast(scale, torch.float64), (1,)), op.reshape(whole, (1,))


@lowering(RANGE_OF)
def range_of(op: Emitter, x: ir.Value, reduce_range: bool) -> tuple[ir.Value, ir.Value]:
    steps = 127 if reduce_range else 255
    low, high = _extremes(op, x)
    span = op.Div(op.Sub(high, low), float(steps))
    safe = op.Max(span, op.scalar(torch.finfo(torch.float32).tiny, torch.float64))
    zero_point = _zero_point(op, low, safe, 0, steps)
    scale = op.Max(span, op.scalar(_SMALLEST_SCALE, torch.float64))
    return op.cast(scale, torch.float32), op.cast(zero_point, torch.uint8)


def _extremes(op: Emitter, x: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Smallest and largest value, zero among them, in the double precision that torch goes on in."""
    zero = op.scalar(0, op.dtype(x))
    low = op.Min(op.reduce("ReduceMin", x, (), False), zero)
    high = op.Max(op.reduce("ReduceMax", x, (), False), zero)
    return op.cast(low, torch.float64), op.cast(high, torch.float64)


def _zero_point(op: Emitter, low: ir.Value, scale: ir.Value, least: int, most: int) -> ir.Value:
    steps = op.Sub(float(least), op.Round(op.Div(low, scale)))
    bounds = (op.const(float(limit), torch.float64) for limit in (least, most))
    return op.Clip(steps, *bounds)


# ---- training with rounding ----------------------------------------------------------------


def _storage(low: int, high: int) -> torch.dtype:
    for dtype in (torch.int8, torch.uint8, torch.int16, torch.uint16, torch.int32):
        limits = torch.iinfo(dtype)
        if limits.min <= low and high <= limits.max:
            return dtype
    raise Refusal(f"no integer of ONNX has the range {low} to {high}")


@lowering(
    aten.fake_quantize_per_tensor_affine.default,
    aten.fake_quantize_per_tensor_affine.tensor_qparams,
)
def fake_quantize_per_tensor_affine(
    op: Emitter, self: ir.Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> ir.Value:
    return _there_and_back(op, self, scale, zero_point, None, quant_min, quant_max)


@lowering(aten.fake_quantize_per_channel_affine.default)
def fake_quantize_per_channel_affine(
    op: Emitter,
    self: ir.Value,
    scale: ir.Value,
    zero_point: ir.Value,
    axis: int,
    quant_min: int,
    quant_max: int,
) -> ir.Value:
    return _there_and_back(op, self, scale, zero_point, axis, quant_min, quant_max)


@lowering(aten._fake_quantize_learnable_per_tensor_affine.default)
def fake_quantize_learnable_per_tensor_affine(
    op: Emitter,
    self: ir.Value,
    scale: ir.Value,
    zero_point: ir.Value,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> ir.Value:
    near = _nearest(op, zero_point, quant_min, quant_max)
    return _there_and_back(op, self, scale, near, None, quant_min, quant_max)


@lowering(aten._fake_quantize_learnable_per_channel_affine.default)
def fake_quantize_learnable_per_channel_affine(
    op: Emitter,
    self: ir.Value,
    scale: ir.Value,
    zero_point: ir.Value,
    axis: int,
    quant_min: int,
    quant_max: int,
    grad_factor: float = 1.0,
) -> ir.Value:
    near = _nearest(op, zero_point, quant_min, quant_max)
    return _there_and_back(op, self, scale, near, axis, quant_min, quant_max)


@lowering(aten.fake_quantize_per_tensor_affine_cachemask.default)
def fake_quantize_per_tensor_affine_cachemask(
    op: Emitter, self: ir.Value, scale: Any, zero_point: Any, quant_min: int, quant_max: int
) -> tuple[ir.Value, ir.Value]:
    steps = op.Add(op.Round(op.Div(self, _number(op, scale, torch.float32))), float(zero_point))
    inside = op.And(
        op.GreaterOrEqual(steps, float(quant_min)), op.LessOrEqual(steps, float(quant_max))
    )
    return _there_and_back(op, self, scale, zero_point, None, quant_min, quant_max), inside


def _nearest(op: Emitter, zero_point: ir.Value, low: int, high: int) -> ir.Value:
    """A zero point that is being learned is a float."""
    known = held(zero_point)
    if known is not None:
        return op.const(known.add(0.5).floor().clamp(low, high))
    whole = op.Floor(op.Add(zero_point, 0.5))
    return op.Clip(whole, op.const(float(low), torch.float32), op.const(float(high), torch.float32))


def _there_and_back(
    op: Emitter, x: ir.Value, scale: Any, zero_point: Any, axis: int | None, low: int, high: int
) -> ir.Value:
    if _is_off(zero_point):
        raise Refusal("its zero point is no whole number")
    own, dtype = op.dtype(x), _storage(low, high)
    integers = _rounded_weight(op, x, scale, zero_point, axis, low, high)
    if integers is None:
        integers = quantised(op, x, scale, zero_point, low, high, dtype, axis)
    return dequantised(op, integers, scale, zero_point, dtype, axis, own)


def _rounded_weight(
    op: Emitter, x: ir.Value, scale: Any, zero_point: Any, axis: int | None, low: int, high: int
) -> ir.Value | None:
    """The integers of a weight, which are the same at every call; None where they are computed."""
    weight, *numbers = (
        held(value) if isinstance(value, ir.Value) else torch.tensor(value)
        for value in (x, scale, zero_point)
    )
    if weight is None or any(number is None for number in numbers):
        return None
    found = x.meta.get("rounded")
    if found is None:
        sizes = [1] * weight.dim()
        if axis is not None:
            sizes[axis] = -1
        factor, zero = (number.float().reshape(sizes) for number in numbers if number is not None)
        whole = (weight.float() * (1 / factor)).round().add(zero).clamp(low, high)
        tensor = ir.tensor_adapters.TorchTensor(whole.to(_storage(low, high)).contiguous())
        found = op.initialiser(op.shared.values.unique(f"{x.name}.rounded"), tensor)
        found.meta["weight"] = True
        x.meta["rounded"] = found
    return found


def _is_off(zero_point: Any) -> bool:
    """Whether a zero point lies between the integers: float ones are used as they are."""
    known = held(zero_point) if isinstance(zero_point, ir.Value) else None
    return known is not None and known.is_floating_point() and bool((known != known.round()).any())
