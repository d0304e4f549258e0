"""Pooling over windows of a fixed size, and its inverse."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.windows import batched, held_apart, padded, per_axis, taps, window_count
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, concrete, is_static

aten = torch.ops.aten

_MAX_KERNELS = {torch.float32, torch.float64, torch.float16, torch.int8, torch.uint8}
_MEAN_KERNELS = {torch.float32, torch.float16}


def _counts(
    sizes: Sequence[Size],
    kernel: Sequence[int],
    stride: Sequence[int],
    around: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> list[Size]:
    """How many windows there are; in ceil mode none that starts in the padding behind."""
    found: list[Size] = []
    for size, k, step, pad, spread in zip(sizes, kernel, stride, around, dilation, strict=True):
        extra = step - 1 if ceil_mode else 0
        count = window_count(size, k, step, pad, pad + extra, spread)
        if ceil_mode:
            count = torch.sym_min(count, (size + pad - 1) // step + 1)  # type: ignore[no-untyped-call]
        found.append(concrete(count))
    return found


def _rounding(
    sizes: Sequence[Size],
    kernel: Sequence[int],
    stride: Sequence[int],
    around: Sequence[int],
    dilation: Sequence[int],
    counts: Sequence[Size],
) -> int | None:
    """The ceil_mode that gives these counts by ONNX's own formula, which drops no window.

    None when axes disagree. ONNX Runtime counts as torch does, so an open size may stay as it is."""
    if not is_static(*sizes):
        return 1
    for mode in (0, 1):
        plain = [
            window_count(size, k, step, pad, pad + (step - 1) * mode, spread)
            for size, k, step, pad, spread in zip(
                sizes, kernel, stride, around, dilation, strict=True
            )
        ]
        if plain == list(counts):
            return mode
    return None


def _lowest(dtype: torch.dtype) -> float:
    return -math.inf if dtype.is_floating_point else torch.iinfo(dtype).min


# ---- the largest ---------------------------------------------------------------------------


def _max_pool(
    op: Emitter,
    x: ir.Value,
    axes: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: bool,
) -> Any:
    kernel = per_axis(kernel_size, axes)
    steps, around = per_axis(stride, axes, kernel), per_axis(padding, axes)
    spread, sizes = per_axis(dilation, axes), op.shape(x)[-axes:]
    counts = _counts(sizes, kernel, steps, around, spread, ceil_mode)
    shape = (*op.shape(x)[:-axes], *counts)
    own = op.dtype(x)
    if own in (torch.int16, torch.int32):  # float64 has a kernel, and holds them all
        options = (axes, kernel_size, stride, padding, dilation, ceil_mode, indices)
        pooled = _max_pool(op, op.cast(x, torch.float64), *options)
        return (op.cast(pooled[0], own), pooled[1]) if indices else op.cast(pooled, own)
    if own not in _MAX_KERNELS:
        if indices:
            raise Refusal(f"ONNX Runtime has no max pooling with indices for {own}")
        return _max_by_hand(op, x, counts, kernel, steps, around, spread, ceil_mode)
    mode = _rounding(sizes, kernel, steps, around, spread, counts) if ceil_mode else 0
    behind = around
    if mode is None:  # as much padding behind as the last window asks for
        behind = [
            max((count - 1) * step + d * (k - 1) + 1 - size - pad, pad)
            for count, step, d, k, size, pad in zip(
                counts, steps, spread, kernel, sizes, around, strict=True
            )
        ]
    x = held_apart(op, x)
    attributes = {
        "kernel_shape": kernel,
        "strides": steps,
        "pads": [*around, *behind],
        "dilations": spread,
        "ceil_mode": mode or 0,
    }
    pooled = batched(op, x, axes + 2, lambda given: op.MaxPool(given, **attributes))
    values = op.describe(pooled, shape)
    if not indices:
        return values
    # A node of its own: where nobody asks for the places it goes, and the quick one stays.
    places = batched(op, x, axes + 2, lambda given: op.MaxPool(given, **attributes, _outputs=2)[1])
    # ONNX counts through the whole tensor, torch anew in every channel.
    plane = op.scalar(product(sizes), torch.int64)
    return values, op.describe(op.Mod(places, plane), shape)


def _max_by_hand(
    op: Emitter,
    x: ir.Value,
    counts: Sequence[Size],
    kernel: Sequence[int],
    stride: Sequence[int],
    around: Sequence[int],
    dilation: Sequence[int],
    ceil_mode: bool,
) -> ir.Value:
    # The last window of the ceil mode may reach beyond the padding, by less than a stride.
    behind = [pad + (step - 1) * ceil_mode for pad, step in zip(around, stride, strict=True)]
    grid = padded(op, x, around, behind, _lowest(op.dtype(x)))
    return functools.reduce(op.Max, taps(op, grid, kernel, stride, dilation, counts))


def _max_lowering(overload: Any, axes: int, indices: bool) -> Any:
    @lowering(overload)
    def max_pool(
        op: Emitter,
        self: ir.Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
    ) -> Any:
        return _max_pool(op, self, axes, kernel_size, stride, padding, dilation, ceil_mode, indices)

    return max_pool


max_pool1d = _max_lowering(aten.max_pool1d.default, 1, False)
max_pool2d = _max_lowering(aten.max_pool2d.default, 2, False)
max_pool3d = _max_lowering(aten.max_pool3d.default, 3, False)
max_pool1d_with_indices = _max_lowering(aten.max_pool1d_with_indices.default, 1, True)
max_pool2d_with_indices = _max_lowering(aten.max_pool2d_with_indices.default, 2, True)
max_pool3d_with_indices = _max_lowering(aten.max_pool3d_with_indices.default, 3, True)


# ---- the mean ------------------------------------------------------------------------------


def _avg_pool(
    op: Emitter,
    x: ir.Value,
    axes: int,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> ir.Value:
    kernel = per_axis(kernel_size, axes)
    steps, around = per_axis(stride, axes, kernel), per_axis(padding, axes)
    sizes, ones = op.shape(x)[-axes:], [1] * axes
    counts = _counts(sizes, kernel, steps, around, ones, ceil_mode)
    shape = (*op.shape(x)[:-axes], *counts)
    mode = _rounding(sizes, kernel, steps, around, ones, counts) if ceil_mode else 0
    if op.dtype(x) not in _MEAN_KERNELS or mode is None or (divisor and mode):
        total = _sum_by_hand(op, x, kernel, steps, around, ceil_mode, counts)
        if divisor:
            return op.Div(total, op.const(divisor, op.dtype(x)))
        members = _members(op, x, kernel, steps, around, ceil_mode, count_include_pad, counts)
        return op.Div(total, members)
    x = x if count_include_pad else held_apart(op, x)
    mean = batched(
        op,
        x,
        axes + 2,
        lambda given: op.AveragePool(
            given,
            kernel_shape=kernel,
            strides=steps,
            pads=around * 2,
            ceil_mode=mode,
            count_include_pad=int(count_include_pad or bool(divisor)),
        ),
    )
    op.describe(mean, shape)
    factor = math.prod(kernel) / divisor if divisor else 1.0
    return mean if factor == 1 else op.Mul(mean, factor)


def _sum_by_hand(
    op: Emitter,
    x: ir.Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    around: Sequence[int],
    ceil_mode: bool,
    counts: Sequence[Size],
) -> ir.Value:
    behind = [pad + (step - 1) * ceil_mode for pad, step in zip(around, stride, strict=True)]
    grid = padded(op, x, around, behind, 0)
    return functools.reduce(op.Add, taps(op, grid, kernel, stride, [1] * len(kernel), counts))


def _members(
    op: Emitter,
    x: ir.Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    around: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    counts: Sequence[Size],
) -> ir.Value:
    """How many elements each window has: the same sum, over ones."""
    axes = len(kernel)
    ones = op.Expand(op.const(1, op.dtype(x)), op.ints(op.shape(x)[-axes:]))
    op.describe(ones, op.shape(x)[-axes:])
    if count_include_pad:
        ones = padded(op, ones, around, around, 1)
        behind = [(step - 1) * ceil_mode for step in stride]
        grid = padded(op, ones, [0] * axes, behind, 0)
        return functools.reduce(op.Add, taps(op, grid, kernel, stride, [1] * axes, counts))
    return _sum_by_hand(op, ones, kernel, stride, around, ceil_mode, counts)


def _avg_lowering(overload: Any, axes: int) -> Any:
    @lowering(overload)
    def avg_pool(
        op: Emitter,
        self: ir.Value,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> ir.Value:
        return _avg_pool(
            op,
            self,
            axes,
            kernel_size,
            stride,
            padding,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )

    return avg_pool


avg_pool1d = _avg_lowering(aten.avg_pool1d.default, 1)
avg_pool2d = _avg_lowering(aten.avg_pool2d.default, 2)
avg_pool3d = _avg_lowering(aten.avg_pool3d.default, 3)


# ---- back again ----------------------------------------------------------------------------


@lowering(aten.max_unpool2d.default, aten.max_unpool3d.default)
def max_unpool(
    op: Emitter,
    self: ir.Value,
    indices: ir.Value,
    output_size: Sequence[Size],
    stride: Any = None,
    padding: Any = None,
) -> ir.Value:
    axes = len(output_size)
    sizes = op.shape(self)
    outer, inner = sizes[:-axes], product(sizes[-axes:])
    flat = (*outer, product(output_size))
    blank = op.describe(op.Expand(op.const(0, op.dtype(self)), op.ints(flat)), flat)
    filled = op.ScatterElements(
        blank,
        op.reshape(indices, (*outer, inner)),
        op.reshape(self, (*outer, inner)),
        axis=-1,
    )
    return op.reshape(op.describe(filled, flat), (*outer, *output_size))
