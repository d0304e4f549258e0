"""Interpolation of bytes, as torch does it: weights in 16 bits, and a rounding after each axis."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter

_MOST_BITS = 22


def resized_bytes(op: Emitter, x: ir.Value, weights: Sequence[torch.Tensor]) -> ir.Value:
    """The last axes of a uint8 tensor times a matrix (in, out) each, the very last axis first.

    Every product and sum is a whole number that float64 holds exactly."""
    rank = op.rank(x)
    for back, matrix in enumerate(reversed(weights), start=1):
        whole, bits = _fixed_point(matrix)
        order = [*(axis for axis in range(rank) if axis != rank - back), rank - back]
        moved = op.Transpose(op.cast(x, torch.float64), perm=order)
        total = op.MatMul(moved, op.const(whole))
        rounded = op.Floor(op.Mul(op.Add(total, 2.0 ** (bits - 1)), 2.0**-bits))
        within = op.cast(op.Clip(rounded, 0.0, 255.0), torch.uint8)
        x = op.Transpose(within, perm=[order.index(axis) for axis in range(rank)])
    return x


def _fixed_point(weights: torch.Tensor) -> tuple[torch.Tensor, int]:
    """Weights as whole numbers, with as many bits behind the point as 16 bits leave room for."""
    largest = float(weights.max())
    bits = 0
    while bits < _MOST_BITS and int(0.5 + largest * 2 ** (bits + 1)) < 1 << 15:
        bits += 1
    scaled = weights * 2.0**bits
    return torch.trunc(scaled + torch.where(scaled < 0, -0.5, 0.5)), bits
