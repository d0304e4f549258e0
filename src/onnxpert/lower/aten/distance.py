"""Distances between the rows of tensors."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linear import matmul, swapped
from onnxpert.lower.aten.norms import linalg_vector_norm
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import is_static

aten = torch.ops.aten

_FEW = 25  # rows up to which torch takes differences; above, it takes products


def _by_products(op: Emitter, x1: ir.Value, x2: ir.Value, mode: int | None) -> bool:
    rows = op.shape(x1)[-2], op.shape(x2)[-2]
    if mode == 2:
        return False
    return mode == 1 or not is_static(*rows) or max(rows) > _FEW


@lowering(aten._euclidean_dist.default)
def euclidean_dist(op: Emitter, x1: ir.Value, x2: ir.Value) -> ir.Value:
    """|a|^2 - 2ab + |b|^2, all in one matrix product, as torch does it."""
    dtype = op.dtype(x1)
    left = op.reduce("ReduceSum", op.Mul(x1, x1), [-1], True)
    right = op.reduce("ReduceSum", op.Mul(x2, x2), [-1], True)
    ones = op.const(1.0, dtype)
    beside_left = op.expand(ones, op.shape(left))
    beside_right = op.expand(ones, op.shape(right))
    a = op.Concat(op.Mul(x1, -2.0), left, beside_left, axis=-1)
    b = op.Concat(x2, beside_right, right, axis=-1)
    return op.Sqrt(op.Max(matmul(op, a, swapped(op, b)), op.const(0.0, dtype)))


@lowering(aten.cdist.default, aten._cdist_forward.default)
def cdist(
    op: Emitter, x1: ir.Value, x2: ir.Value, p: float = 2.0, compute_mode: int | None = None
) -> ir.Value:
    if p == 2 and _by_products(op, x1, x2, compute_mode):
        return euclidean_dist(op, x1, x2)
    gap = op.Sub(op.unsqueeze(x1, -2), op.unsqueeze(x2, -3))
    return linalg_vector_norm(op, gap, p, [-1])


@lowering(aten.pdist.default, aten._pdist_forward.default)
def pdist(op: Emitter, self: ir.Value, p: float = 2.0) -> ir.Value:
    """Of every pair of rows, once."""
    count = op.shape(self)[0]
    if not isinstance(count, int):
        raise Refusal("the distances of every pair among a number of rows that is not fixed")
    first, second = torch.triu_indices(count, count, 1)
    gap = op.Sub(
        op.Gather(self, op.const(first), axis=0), op.Gather(self, op.const(second), axis=0)
    )
    return linalg_vector_norm(op, gap, p, [-1])
