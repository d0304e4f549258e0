"""Pooling over windows whose places are drawn: fractional_max_pool."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.aten.extremum import max_dim
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size

aten = torch.ops.aten
Pair = tuple[ir.Value, ir.Value]


@lowering(aten.fractional_max_pool2d.default)
def fractional_max_pool2d(
    op: Emitter,
    self: ir.Value,
    kernel_size: Sequence[int],
    output_size: Sequence[Size],
    random_samples: ir.Value,
) -> Pair:
    return _pooled(op, self, kernel_size, output_size, random_samples, [1, 0])


@lowering(aten.fractional_max_pool3d.default)
def fractional_max_pool3d(
    op: Emitter,
    self: ir.Value,
    kernel_size: Sequence[int],
    output_size: Sequence[Size],
    random_samples: ir.Value,
) -> Pair:
    return _pooled(op, self, kernel_size, output_size, random_samples, [0, 1, 2])


def _pooled(
    op: Emitter,
    x: ir.Value,
    kernel: Sequence[int],
    output: Sequence[Size],
    samples: ir.Value,
    columns: Sequence[int],  # which of the samples is for which axis
) -> Pair:
    axes = len(columns)
    kernel = list(kernel) * axes if len(kernel) == 1 else list(kernel)
    output = list(output) * axes if len(output) == 1 else list(output)
    leading, sizes = op.shape(x)[:-axes], op.shape(x)[-axes:]
    planes = leading if len(leading) == 2 else (1, *leading)
    flat: ir.Value | None = None
    for axis, column in enumerate(columns):
        sample = op.Gather(samples, op.const(column, torch.int64), axis=2)
        starts = _starts(op, sample, sizes[axis], output[axis], kernel[axis])
        places = op.Add(op.unsqueeze(starts, 3), op.const(torch.arange(kernel[axis])))
        # (planes, own outputs, own kernel) among those of all axes: outputs first, then kernels.
        shape = [*planes, *[1] * (2 * axes)]
        shape[2 + axis], shape[2 + axes + axis] = output[axis], kernel[axis]
        places = op.reshape(places, shape)
        flat = places if flat is None else op.Add(op.Mul(flat, op.scalar(sizes[axis])), places)
    assert flat is not None
    windows = op.reshape(flat, (*planes, product(output) * product(kernel)))
    data = op.reshape(x, (*planes, product(sizes)))
    shape = [*planes, product(output), product(kernel)]
    values = op.reshape(op.GatherElements(data, windows, axis=2), shape)
    largest, which = max_dim(op, values, 3)
    at = op.GatherElements(op.reshape(windows, shape), op.unsqueeze(which, 3), axis=3)
    result = (*leading, *output)
    return op.reshape(largest, result), op.reshape(at, result)


def _starts(op: Emitter, sample: ir.Value, size: Size, number: Size, kernel: int) -> ir.Value:
    """The first element of each window: steps of a length that is no whole number, and the last
    one at the end."""
    dtype = op.dtype(sample)
    last = op.scalar(size - kernel, torch.int64)
    place = count(op, number)
    gaps = op.Max(op.scalar(number - 1, torch.int64), 1)
    step = op.Div(op.cast(last, dtype), op.cast(gaps, dtype))
    drawn = op.unsqueeze(sample, 2)
    here = op.cast(op.Mul(op.Add(op.cast(place, dtype), drawn), step), torch.int64)
    start = op.Sub(here, op.cast(op.Mul(drawn, step), torch.int64))
    return op.Where(op.Equal(place, op.scalar(number - 1, torch.int64)), last, start)
