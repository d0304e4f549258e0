"""Sliding windows: unfold, im2col and its inverse, and views by strides."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import grid
from onnxpert.lower.aten.padding import cropped, padded
from onnxpert.lower.aten.permuting import moved, transposed
from onnxpert.lower.aten.scattering import scattered
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten


@lowering(aten.unfold.default, aten.unfold_copy.default)
def unfold(op: Emitter, x: ir.Value, dimension: int, size: int, step: int) -> ir.Value:
    if not op.rank(x):
        return op.Slice(op.reshape(x, (1,)), [0], [size], [0])
    sizes = op.shape(x)
    axis = dimension % len(sizes)
    windows = concrete((sizes[axis] - size) // step + 1)
    if isinstance(windows, int) and size == step and windows * size == sizes[axis]:
        cut = op.reshape(x, (*sizes[:axis], windows, size, *sizes[axis + 1 :]))
    else:
        cut = op.Gather(x, grid(op, (windows, size), (step, 1)), axis=axis)
    return moved(op, cut, [axis + 1], [-1])


def _pair(values: Sequence[int]) -> tuple[int, int]:
    return (values[0], values[-1])


def _windows(
    sizes: Sequence[Size],
    kernel: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> list[Size]:
    return [
        concrete((size + 2 * p - d * (k - 1) - 1) // s + 1)
        for size, k, d, p, s in zip(sizes, kernel, dilation, padding, stride, strict=True)
    ]


@lowering(aten.im2col.default)
def im2col(
    op: Emitter,
    x: ir.Value,
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> ir.Value:
    kernel, spread, border, step = map(_pair, (kernel_size, dilation, padding, stride))
    *batch, channels, height, width = op.shape(x)
    rows, columns = _windows((height, width), kernel, spread, border, step)
    frame: list[tuple[Size, Size]] = [(0, 0)] * (len(batch) + 1)
    x = padded(op, x, [*frame, (border[0], border[0]), (border[1], border[1])])
    at = len(batch) + 1
    tall = op.Gather(x, grid(op, (kernel[0], rows), (spread[0], step[0])), axis=at)
    both = op.Gather(tall, grid(op, (kernel[1], columns), (spread[1], step[1])), axis=at + 2)
    order = [*range(at), at, at + 2, at + 1, at + 3]
    patch = channels * kernel[0] * kernel[1]
    return op.reshape(transposed(op, both, order), (*batch, patch, rows * columns))


@lowering(aten.col2im.default)
def col2im(
    op: Emitter,
    x: ir.Value,
    output_size: Sequence[Size],
    kernel_size: Sequence[int],
    dilation: Sequence[int],
    padding: Sequence[int],
    stride: Sequence[int],
) -> ir.Value:
    kernel, spread, border, step = map(_pair, (kernel_size, dilation, padding, stride))
    *batch, patch, _ = op.shape(x)
    channels = patch // (kernel[0] * kernel[1])
    wanted = (*batch, channels, *output_size)
    if op.opset >= 18 and batch and op.dtype(x) in (torch.float32, torch.float16):
        image = op.Col2Im(
            x,
            op.ints(output_size),
            op.ints(kernel),
            dilations=list(spread),
            pads=[*border, *border],
            strides=list(step),
        )
        return op.describe(image, wanted)
    return op.reshape(_summed(op, x, channels, output_size, kernel, spread, border, step), wanted)


def _summed(
    op: Emitter,
    x: ir.Value,
    channels: Size,
    output_size: Sequence[Size],
    kernel: tuple[int, int],
    spread: tuple[int, int],
    border: tuple[int, int],
    step: tuple[int, int],
) -> ir.Value:
    """Every element of a patch added where it came from, in an image with its border still on."""
    rows, columns = _windows(output_size, kernel, spread, border, step)
    height, width = (size + 2 * p for size, p in zip(output_size, border, strict=True))
    total = kernel[0] * kernel[1] * rows * columns
    places = grid(
        op,
        (kernel[0], kernel[1], rows, columns),
        (spread[0] * width, spread[1], step[0] * width, step[1]),
    )
    images = (op.shape(x)[0] if op.rank(x) == 3 else 1) * channels
    blank = op.expand(op.scalar(0, op.dtype(x)), (images, height * width))
    index = op.expand(op.reshape(places, (1, total)), (images, total))
    summed = scattered(op, blank, 1, index, op.reshape(x, (images, total)), "add")
    frame = [(0, 0), (-border[0], -border[0]), (-border[1], -border[1])]
    return cropped(op, op.reshape(summed, (images, height, width)), frame)
