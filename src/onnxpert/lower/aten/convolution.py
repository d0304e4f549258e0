"""Convolutions, plain and transposed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linear import matmul
from onnxpert.lower.aten.slicing import sliced
from onnxpert.lower.aten.windows import batched, padded, per_axis, taps, window_count
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import is_static

aten = torch.ops.aten

_KERNELS = {torch.float32, torch.float16, torch.bfloat16}  # halves are cast by the runtime


def _convolved(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None,
    stride: Any,
    before: Sequence[int],
    after: Sequence[int],
    dilation: Any,
    groups: int,
) -> ir.Value:
    axes = op.rank(weight) - 2
    kernel = list(op.shape(weight)[2:])
    steps, spread = per_axis(stride, axes), per_axis(dilation, axes)

    def call(x: ir.Value) -> ir.Value:
        counts = [
            window_count(*sizes)
            for sizes in zip(op.shape(x)[2:], kernel, steps, before, after, spread, strict=True)
        ]
        shape = (op.shape(x)[0], op.shape(weight)[0], *counts)
        if op.dtype(x) not in _KERNELS or not is_static(groups):
            grid = padded(op, x, before, after, 0)
            return _by_hand(op, grid, weight, bias, steps, spread, groups, shape)
        result = op.Conv(
            x,
            weight,
            bias,
            strides=steps,
            pads=[*before, *after],
            dilations=spread,
            group=groups,
            kernel_shape=kernel if all(isinstance(k, int) for k in kernel) else None,
        )
        return op.describe(result, shape)

    return batched(op, input, axes + 2, call)


def _by_hand(
    op: Emitter,
    x: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None,
    stride: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    shape: Sequence[Any],
) -> ir.Value:
    """One matrix product over the unfolded windows: ONNX Runtime has no Conv for this dtype, and
    ONNX none for as many groups as there are samples (a kernel of its own for each of them)."""
    kernel = op.shape(weight)[2:]
    batch, out, *counts = shape
    channels = op.shape(x)[1]
    columns = op.Concat(
        *(op.unsqueeze(piece, 2) for piece in taps(op, x, kernel, stride, dilation, counts)), axis=2
    )
    depth = channels // groups * product(kernel)
    columns = op.reshape(columns, (batch, groups, depth, product(counts)))
    rows = op.reshape(weight, (groups, out // groups, depth))
    result = op.reshape(matmul(op, rows, columns), shape)
    if bias is None:
        return result
    return op.Add(result, op.reshape(bias, (out, *(1,) * len(kernel))))


def _same(weight_shape: Sequence[Any], dilation: Sequence[int]) -> tuple[list[int], list[int]]:
    """torch's "same": the odd one of the padding goes behind."""
    total = [d * (k - 1) for k, d in zip(weight_shape[2:], dilation, strict=True)]
    return [size // 2 for size in total], [size - size // 2 for size in total]


@lowering(aten.conv1d.default, aten.conv2d.default, aten.conv3d.default)
def conv(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> ir.Value:
    around = per_axis(padding, op.rank(weight) - 2)
    return _convolved(op, input, weight, bias, stride, around, around, dilation, groups)


@lowering(
    aten.conv1d.padding, aten.conv2d.padding, aten.conv3d.padding, aten._convolution_mode.default
)
def conv_named_padding(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None = None,
    stride: Any = 1,
    padding: str = "valid",
    dilation: Any = 1,
    groups: int = 1,
) -> ir.Value:
    axes = op.rank(weight) - 2
    before = after = [0] * axes
    if padding == "same":
        before, after = _same(op.shape(weight), per_axis(dilation, axes))
    return _convolved(op, input, weight, bias, stride, before, after, dilation, groups)


@lowering(
    aten.convolution.default,
    aten._convolution.default,
    aten._convolution.deprecated,
    aten.convolution_overrideable.default,
)
def convolution(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    *flags: bool,
) -> ir.Value:
    if transposed:
        return conv_transpose(
            op, input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return conv(op, input, weight, bias, stride, padding, dilation, groups)


@lowering(aten.conv_transpose1d.default, aten.conv_transpose2d.input, aten.conv_transpose3d.input)
def conv_transpose(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> ir.Value:
    axes = op.rank(weight) - 2
    around, extra = per_axis(padding, axes), per_axis(output_padding, axes)
    steps, spread = per_axis(stride, axes), per_axis(dilation, axes)
    kernel = op.shape(weight)[2:]
    if not is_static(*extra):
        most = [max(step, d) - 1 for step, d in zip(steps, spread, strict=True)]
        options = (stride, padding, most, groups, dilation)
        result = conv_transpose(op, input, weight, bias, *options)
        return _less_behind(op, result, [a - b for a, b in zip(most, extra, strict=True)])

    def call(x: ir.Value) -> ir.Value:
        sizes = [
            (size - 1) * step - 2 * pad + d * (k - 1) + more + 1
            for size, step, pad, d, k, more in zip(
                op.shape(x)[2:], steps, around, spread, kernel, extra, strict=True
            )
        ]
        # What is asked for beyond the end is first what the padding would have cut off there.
        behind = [max(pad - more, 0) for pad, more in zip(around, extra, strict=True)]
        rest = [more - (pad - end) for pad, more, end in zip(around, extra, behind, strict=True)]
        far = any(more >= step for more, step in zip(rest, steps, strict=True))
        if op.dtype(x) not in _KERNELS or far or not is_static(groups):
            return _transposed_by_hand(op, x, weight, bias, steps, around, spread, groups, sizes)
        result = op.ConvTranspose(
            x,
            weight,
            bias,
            strides=steps,
            pads=[*around, *behind],
            output_padding=rest if any(rest) else None,
            dilations=spread,
            group=groups,
            kernel_shape=list(kernel) if all(isinstance(k, int) for k in kernel) else None,
        )
        return op.describe(result, (op.shape(x)[0], op.shape(weight)[1] * groups, *sizes))

    return batched(op, input, axes + 2, call)


def _less_behind(op: Emitter, x: ir.Value, less: Sequence[Any]) -> ir.Value:
    """Without so many of the last elements of each of the last axes."""
    for axis, count in enumerate(less, op.rank(x) - len(less)):
        x = sliced(op, x, axis, 0, op.shape(x)[axis] - count)
    return x


def _transposed_by_hand(
    op: Emitter,
    x: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    sizes: Sequence[Any],
) -> ir.Value:
    """A plain convolution of the input with zeros between its elements and the kernel turned round."""
    axes = len(stride)
    batch, channels, *inner = op.shape(x)
    for axis, step in enumerate(stride):
        if step > 1:  # [a, b] -> [a, 0, b, 0]
            wide = op.unsqueeze(x, axis + 3)
            rank = op.rank(wide)
            pads = [0] * (2 * rank)
            pads[rank + axis + 3] = step - 1
            wide = op.Pad(wide, op.ints(pads), op.const(0, op.dtype(x)))
            inner[axis] = inner[axis] * step
            x = op.reshape(
                op.describe(wide, (*op.shape(x)[: axis + 3], step, *op.shape(x)[axis + 3 :])),
                (batch, channels, *inner),
            )
    kernel = op.shape(weight)[2:]
    reach = [d * (k - 1) for d, k in zip(dilation, kernel, strict=True)]
    before = [r - p for r, p in zip(reach, padding, strict=True)]
    # What is missing behind: the wanted size, less what lies before it.
    after = [size + r - b - i for size, r, b, i in zip(sizes, reach, before, inner, strict=True)]
    out = op.shape(weight)[1] * groups
    turned = op.reshape(weight, (groups, channels // groups, out // groups, *kernel))
    turned = op.Transpose(turned, perm=[0, 2, 1, *range(3, axes + 3)])
    turned = op.reshape(turned, (out, channels // groups, *kernel))
    ends = [-(2**62)] * axes
    turned = op.Slice(turned, [-1] * axes, ends, list(range(2, axes + 2)), [-1] * axes)
    op.describe(turned, (out, channels // groups, *kernel))
    grid = padded(op, x, before, after, 0)
    return _by_hand(op, grid, turned, bias, [1] * axes, dilation, groups, (batch, out, *sizes))


@lowering(aten.conv_tbc.default)
def conv_tbc(
    op: Emitter, self: ir.Value, weight: ir.Value, bias: ir.Value, pad: int = 0
) -> ir.Value:
    """Time, batch, channels; the weight is (time, in, out)."""
    x = op.Transpose(self, perm=[1, 2, 0])
    turned = op.Transpose(weight, perm=[2, 1, 0])
    result = _convolved(op, x, turned, bias, [1], [pad], [pad], [1], 1)
    return op.Transpose(result, perm=[2, 0, 1])


@lowering(aten.mkldnn_convolution.default)
def mkldnn_convolution(
    op: Emitter,
    self: ir.Value,
    weight: ir.Value,
    bias: ir.Value | None,
    padding: Any,
    stride: Any,
    dilation: Any,
    groups: int,
) -> ir.Value:
    return conv(op, self, weight, bias, stride, padding, dilation, groups)


@lowering(
    aten.slow_conv3d.default,
    aten.thnn_conv2d.default,
    aten.slow_conv_dilated2d.default,
    aten.slow_conv_dilated3d.default,
)
def slow_conv(
    op: Emitter,
    self: ir.Value,
    weight: ir.Value,
    kernel_size: Any,
    bias: ir.Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
) -> ir.Value:
    return conv(op, self, weight, bias, stride, padding, dilation)


@lowering(aten._conv_depthwise2d.default, aten.conv_depthwise3d.default)
def conv_depthwise(
    op: Emitter,
    self: ir.Value,
    weight: ir.Value,
    kernel_size: Any,
    bias: ir.Value | None,
    stride: Any,
    padding: Any,
    dilation: Any,
) -> ir.Value:
    groups = op.shape(self)[1]
    if not isinstance(groups, int):
        raise Refusal("the number of channels is not fixed")
    return conv(op, self, weight, bias, stride, padding, dilation, groups)


@lowering(aten.slow_conv_transpose2d.default, aten.slow_conv_transpose3d.default)
def slow_conv_transpose(
    op: Emitter,
    self: ir.Value,
    weight: ir.Value,
    kernel_size: Any,
    bias: ir.Value | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
) -> ir.Value:
    return conv_transpose(op, self, weight, bias, stride, padding, output_padding, 1, dilation)
