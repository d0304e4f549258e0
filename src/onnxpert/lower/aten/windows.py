"""Sliding windows written out as slices, for the dtypes that no pooling or convolution kernel has."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.symbols import Size


def per_axis(value: Any, count: int, default: Sequence[int] = ()) -> list[Any]:
    """An argument given once, or once per axis, or (empty) not at all."""
    if isinstance(value, (int, torch.SymInt)):
        return [value] * count
    given = list(value) or list(default)
    return given * count if len(given) == 1 else given


def batched(op: Emitter, x: ir.Value, rank: int, call: Callable[[ir.Value], ir.Value]) -> ir.Value:
    """`call` on an input that has a batch axis; one that has none gets it for the time."""
    if op.rank(x) == rank:
        return call(x)
    return op.squeeze(call(op.unsqueeze(x, 0)), 0)


def window_count(
    size: Size, kernel: int, stride: int, before: int, after: int, dilation: int
) -> Size:
    return (size + before + after - dilation * (kernel - 1) - 1) // stride + 1


def padded(
    op: Emitter, x: ir.Value, before: Sequence[Size], after: Sequence[Size], fill: Any
) -> ir.Value:
    """`x` with `fill` around its last axes."""
    if not any(isinstance(size, torch.SymInt) or size for size in (*before, *after)):
        return x
    sizes = op.shape(x)
    free = len(sizes) - len(before)
    pads = [*[0] * free, *before, *[0] * free, *after]
    result = op.Pad(x, op.ints(pads), op.const(fill, op.dtype(x)))
    return op.describe(result, [s + pads[i] + pads[i + len(sizes)] for i, s in enumerate(sizes)])


def held_apart(op: Emitter, x: ir.Value) -> ir.Value:
    """`x`, and if it has a border of zeros, one that stays out of the windows that follow.

    ONNX Runtime moves such a Pad into the pooling behind it (1.31), where what lies outside is no
    zero but nothing at all; not one that names its axes, or whose zero has a sign."""
    pad = x.producer()
    if pad is not None and pad.op_type == "Cast" and pad.inputs[0] is not None:
        inner = held_apart(op, pad.inputs[0])
        return x if inner is pad.inputs[0] else op.cast(inner, op.dtype(x))
    if pad is None or pad.op_type != "Pad" or len(pad.inputs) < 2:
        return x
    mode = pad.attributes.get("mode")
    if mode is not None and mode.as_string() != "constant":
        return x
    if any(given is not None for given in pad.inputs[2:]):  # another value, or named axes
        return x
    own, sizes = op.dtype(x), op.shape(x)
    if op.opset >= 18:
        apart = op.Pad(pad.inputs[0], pad.inputs[1], None, op.ints(list(range(len(sizes)))))
    elif own.is_floating_point:
        apart = op.Pad(pad.inputs[0], pad.inputs[1], op.const(-0.0, own))
    else:
        return x
    return op.describe(apart, sizes)


def taps(
    op: Emitter,
    x: ir.Value,
    kernel: Sequence[int],
    stride: Sequence[int],
    dilation: Sequence[int],
    counts: Sequence[Size],
) -> Iterator[ir.Value]:
    """For each place in the window, in order, the elements that all windows have there.

    `x` is already padded; `counts` says how many windows there are along each of its last axes."""
    axes = list(range(op.rank(x) - len(kernel), op.rank(x)))
    outer = op.shape(x)[: axes[0]]
    for place in itertools.product(*map(range, kernel)):
        starts = [spot * spread for spot, spread in zip(place, dilation, strict=True)]
        ends = [
            start + (count - 1) * step + 1
            for start, count, step in zip(starts, counts, stride, strict=True)
        ]
        piece = op.Slice(x, op.ints(starts), op.ints(ends), axes, list(stride))
        yield op.describe(piece, (*outer, *counts))
