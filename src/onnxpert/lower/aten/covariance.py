"""Covariances and correlations of the rows of a matrix."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.aten.linear import matmul, swapped
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(aten.cov.default)
def cov(
    op: Emitter,
    self: ir.Value,
    *,
    correction: int = 1,
    fweights: ir.Value | None = None,
    aweights: ir.Value | None = None,
) -> ir.Value:
    dtype = op.dtype(self)
    if aweights is not None:
        dtype = torch.promote_types(dtype, op.dtype(aweights))
    if not dtype.is_floating_point:
        dtype = torch.get_default_dtype()
    x = op.cast(self, dtype)
    if op.rank(x) < 2:
        x = op.reshape(x, (1, *(op.shape(x) or (1,))))
    often, important = (
        None if weights is None else op.cast(weights, dtype) for weights in (fweights, aweights)
    )
    weights = often if important is None else important
    if often is not None and important is not None:
        weights = op.Mul(often, important)
    if weights is None:
        total = op.scalar(op.shape(x)[1], dtype)
        mean = op.Div(op.reduce("ReduceSum", x, [1], True), total)
    else:
        total = op.reduce("ReduceSum", weights, [], False)
        mean = op.Div(op.reduce("ReduceSum", op.Mul(x, weights), [1], True), total)
    apart = op.Sub(x, mean)
    weighed = apart if weights is None else op.Mul(apart, weights)
    products = matmul(op, apart, swapped(op, weighed))
    divisor = op.Max(_freedom(op, total, correction, weights, important), op.scalar(0.0, dtype))
    rows = op.shape(x)[0]
    result = op.Div(products, divisor)
    return op.reshape(result, ()) if isinstance(rows, int) and rows == 1 else result


def _freedom(
    op: Emitter,
    total: ir.Value,
    correction: int,
    weights: ir.Value | None,
    important: ir.Value | None,
) -> ir.Value:
    if not correction:
        return total
    if weights is None or important is None:
        return op.Sub(total, float(correction))
    share = op.Div(op.reduce("ReduceSum", op.Mul(weights, important), [], False), total)
    return op.Sub(total, op.Mul(share, float(correction)))


@lowering(aten.corrcoef.default)
def corrcoef(op: Emitter, self: ir.Value) -> ir.Value:
    products = cov(op, self)
    if op.rank(products) == 0:
        return op.Div(products, products)
    size = op.shape(products)[0]
    own = op.Equal(op.unsqueeze(count(op, size), 1), count(op, size))
    zero = op.scalar(0.0, op.dtype(products))
    # Picked, not multiplied: a NaN beside the diagonal stays where it is.
    variances = op.reduce("ReduceSum", op.Where(own, products, zero), [1], False)
    roots = op.Sqrt(variances)
    result = op.Div(op.Div(products, op.unsqueeze(roots, 1)), roots)
    # Not Clip, which loses NaN.
    over = op.Greater(op.Abs(result), 1.0)
    return op.Where(over, op.Sign(result), result)
