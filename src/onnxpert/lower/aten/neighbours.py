"""The next number a dtype has."""

from __future__ import annotations

import math

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import promoted

aten = torch.ops.aten


@lowering(aten.nextafter.default)
def nextafter(op: Emitter, self: ir.Value, other: ir.Value) -> ir.Value:
    """A little more than half the way to the next number: rounding does the rest.

    The distance of neighbours is at most `eps` times a number, and more than half of that."""
    x, y = promoted(op, self, other)
    own = op.dtype(x)
    limits = torch.finfo(own)
    wide = own if own in (torch.float32, torch.float64) else torch.float32
    a, b = op.cast(x, wide), op.cast(y, wide)
    size, smallest = op.Abs(a), limits.smallest_normal
    # Among the smallest numbers half a distance is no number any more: there it is done enlarged.
    enlarge = 2.0 ** (200 if own is torch.float64 else 64)
    tiny = op.Less(size, smallest * enlarge)
    scale = op.Where(tiny, op.scalar(enlarge, wide), op.scalar(1.0, wide))
    large = op.Mul(a, scale)
    step = op.Mul(op.Abs(large), limits.eps * (0.5 + 2**-5))
    # Those without a leading one are all at the same distance.
    step = op.Where(op.Less(size, 2 * smallest), smallest * limits.eps * enlarge, step)
    up = op.Less(a, b)
    moved = op.Div(op.Add(large, op.Where(up, step, op.Neg(step))), scale)
    largest = op.Where(up, op.scalar(limits.min, wide), op.scalar(limits.max, wide))
    moved = op.Where(op.Equal(size, op.scalar(math.inf, wide)), largest, moved)
    # Equal numbers give the second one, which matters for the sign of zero; NaN gives NaN.
    unordered = op.Or(op.IsNaN(a), op.IsNaN(b))
    moved = op.Where(unordered, op.Add(a, b), moved)
    return op.cast(op.Where(op.Equal(a, b), b, moved), own)
