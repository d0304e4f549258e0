"""Losses that torch does not take apart, or not well: those by class index, and margins."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.activation import log_softmax
from onnxpert.lower.aten.arithmetic import add, mul, neg, sub
from onnxpert.lower.aten.exponential import exp, log1p
from onnxpert.lower.aten.linear import scaled
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product

aten = torch.ops.aten

NONE, MEAN, SUM = 0, 1, 2  # torch's reductions


def _reduced(op: Emitter, x: ir.Value, reduction: int) -> ir.Value:
    if reduction == NONE:
        return x
    return op.reduce("ReduceMean" if reduction == MEAN else "ReduceSum", x, [], False)


# ---- by class index ------------------------------------------------------------------------


def _picked(
    op: Emitter, self: ir.Value, target: ir.Value, weight: ir.Value | None, ignore_index: Any
) -> tuple[ir.Value, ir.Value]:
    """The negated score of each target's class, and the weight it has; zeros where ignored."""
    axis = 0 if op.rank(self) == 1 else 1
    dtype = op.dtype(self)
    index = op.cast(target, torch.int64)
    ignored = op.Equal(index, op.scalar(ignore_index, torch.int64))
    safe = op.Where(ignored, op.const(0, torch.int64), index)
    score = op.squeeze(op.GatherElements(self, op.unsqueeze(safe, axis), axis=axis), axis)
    share = op.const(1.0, dtype) if weight is None else op.Gather(weight, safe, axis=0)
    share = op.Where(ignored, op.const(0.0, dtype), share)
    # A score of -inf under an ignored target must not become a NaN.
    negated = op.Where(ignored, op.const(0.0, dtype), op.Neg(score))
    return (negated if weight is None else op.Mul(negated, share)), share


@lowering(
    aten.nll_loss_forward.default,
    aten.nll_loss2d_forward.default,
)
def nll_loss_forward(
    op: Emitter,
    self: ir.Value,
    target: ir.Value,
    weight: ir.Value | None = None,
    reduction: int = MEAN,
    ignore_index: Any = -100,
) -> tuple[ir.Value, ir.Value]:
    losses, shares = _picked(op, self, target, weight, ignore_index)
    if reduction == NONE:
        return losses, op.const(0.0, op.dtype(self))
    total, count = (op.reduce("ReduceSum", one, [], False) for one in (losses, shares))
    return (op.Div(total, count) if reduction == MEAN else total), count


@lowering(aten.nll_loss.default, aten.nll_loss_nd.default, aten.nll_loss2d.default)
def nll_loss(
    op: Emitter,
    self: ir.Value,
    target: ir.Value,
    weight: ir.Value | None = None,
    reduction: int = MEAN,
    ignore_index: Any = -100,
) -> ir.Value:
    return nll_loss_forward(op, self, target, weight, reduction, ignore_index)[0]


@lowering(aten.cross_entropy_loss.default)
def cross_entropy_loss(
    op: Emitter,
    self: ir.Value,
    target: ir.Value,
    weight: ir.Value | None = None,
    reduction: int = MEAN,
    ignore_index: Any = -100,
    label_smoothing: float = 0.0,
) -> ir.Value:
    axis = 0 if op.rank(self) == 1 else 1
    scores = log_softmax(op, self, axis)
    along = None
    if weight is not None:
        along = op.reshape(weight, (*op.shape(weight), *(1,) * (op.rank(self) - 1 - axis)))
    if op.dtype(target).is_floating_point:
        return _by_probability(op, scores, target, along, reduction, label_smoothing, axis)
    plain = nll_loss(op, scores, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return plain
    index = op.cast(target, torch.int64)
    ignored = op.Equal(index, op.scalar(ignore_index, torch.int64))
    each = op.Neg(op.reduce("ReduceSum", _times(op, scores, along), [axis], False))
    smooth = op.Where(ignored, op.const(0.0, op.dtype(self)), each)
    if reduction != NONE:
        smooth = op.reduce("ReduceSum", smooth, [], False)
    if reduction == MEAN:
        _, shares = _picked(op, scores, target, weight, ignore_index)
        smooth = op.Div(smooth, op.reduce("ReduceSum", shares, [], False))
    part = op.Div(label_smoothing, op.scalar(op.shape(self)[axis], op.dtype(self)))
    return op.Add(scaled(op, plain, 1 - label_smoothing), op.Mul(smooth, part))


def _times(op: Emitter, x: ir.Value, factor: ir.Value | None) -> ir.Value:
    return x if factor is None else op.Mul(x, factor)


def _by_probability(
    op: Emitter,
    scores: ir.Value,
    target: ir.Value,
    weight: ir.Value | None,
    reduction: int,
    label_smoothing: float,
    axis: int,
) -> ir.Value:
    dtype, classes = op.dtype(scores), op.shape(scores)[axis]
    if label_smoothing:
        spread = op.Div(label_smoothing, op.scalar(classes, dtype))
        target = op.Add(op.Mul(target, 1 - label_smoothing), spread)
    each = op.Mul(_times(op, scores, weight), target)
    if reduction == NONE:
        return op.Neg(op.reduce("ReduceSum", each, [axis], False))
    total = op.Neg(op.reduce("ReduceSum", each, [], False))
    if reduction == SUM:
        return total
    rows = product([size for i, size in enumerate(op.shape(scores)) if i != axis])
    return op.Div(total, op.scalar(rows, dtype))


@lowering(aten.binary_cross_entropy.default)
def binary_cross_entropy(
    op: Emitter,
    self: ir.Value,
    target: ir.Value,
    weight: ir.Value | None = None,
    reduction: int = MEAN,
) -> ir.Value:
    lowest = op.const(-100.0, op.dtype(self))  # torch's own: no logarithm is less
    no, yes = op.Max(log1p(op, op.Neg(self)), lowest), op.Max(op.Log(self), lowest)
    loss = op.Sub(op.Mul(op.Sub(target, 1.0), no), op.Mul(target, yes))
    return _reduced(op, _times(op, loss, weight), reduction)


# ---- margins -------------------------------------------------------------------------------


@lowering(aten.hinge_embedding_loss.default)
def hinge_embedding_loss(
    op: Emitter, self: ir.Value, target: ir.Value, margin: float = 1.0, reduction: int = MEAN
) -> ir.Value:
    dtype = op.dtype(self)
    nothing = op.const(0.0, dtype)
    apart = op.Max(op.Sub(float(margin), self), nothing)
    sign = op.cast(target, dtype)
    # torch's words: zeros where the target is 1, respectively -1; both parts for any other.
    loss = op.Add(
        op.Where(op.Equal(sign, 1.0), nothing, apart), op.Where(op.Equal(sign, -1.0), nothing, self)
    )
    return _reduced(op, loss, reduction)


@lowering(aten.margin_ranking_loss.default)
def margin_ranking_loss(
    op: Emitter,
    input1: ir.Value,
    input2: ir.Value,
    target: ir.Value,
    margin: float = 0.0,
    reduction: int = MEAN,
) -> ir.Value:
    # The margin is a float: whole numbers wrap before it is added, and no longer after.
    loss = add(op, mul(op, neg(op, target), sub(op, input1, input2)), float(margin))
    return _reduced(op, op.Max(loss, op.const(0.0, op.dtype(loss))), reduction)


@lowering(aten.soft_margin_loss.default)
def soft_margin_loss(
    op: Emitter, self: ir.Value, target: ir.Value, reduction: int = MEAN
) -> ir.Value:
    dtype = op.result_type(self, target)
    product = mul(op, neg(op, target), self)
    if dtype not in (torch.float16, torch.bfloat16):
        return _reduced(op, log1p(op, exp(op, product)), reduction)
    # torch overflows here; a runtime without such kernels goes on in float32, unless told so.
    power = op.cast(op.Exp(op.cast(product, torch.float32)), dtype)
    loss = log1p(op, op.cast(power, torch.float32))
    return op.cast(_reduced(op, loss, reduction), dtype)


@lowering(aten.multilabel_margin_loss_forward.default)
def multilabel_margin_loss_forward(
    op: Emitter, self: ir.Value, target: ir.Value, reduction: int
) -> tuple[ir.Value, ir.Value]:
    shape, dtype = op.shape(self), op.dtype(self)
    rows = self if len(shape) == 2 else op.reshape(self, (1, *(shape or (1,))))
    index = op.reshape(op.cast(target, torch.int64), op.shape(rows))
    classes = op.shape(rows)[1]
    # The labels end at the first that is negative.
    ended = op.CumSum(op.cast(op.Less(index, 0), torch.int32), op.const(1, torch.int64))
    valid = op.Equal(ended, 0)
    safe = op.Where(valid, index, op.const(0, torch.int64))
    numbers = op.Range(
        op.const(0, torch.int64), op.scalar(classes, torch.int64), op.const(1, torch.int64)
    )
    here = op.And(op.Equal(op.unsqueeze(safe, 2), numbers), op.unsqueeze(valid, 2))
    is_target = op.reduce("ReduceMax", op.cast(here, torch.int32), [1], False)
    own = op.unsqueeze(op.GatherElements(rows, safe, axis=1), 2)
    gap = op.Max(op.Add(op.Sub(1.0, own), op.unsqueeze(rows, 1)), op.const(0.0, dtype))
    others = op.unsqueeze(op.Equal(is_target, 0), 1)
    counted = op.Where(op.And(op.unsqueeze(valid, 2), others), gap, op.const(0.0, dtype))
    loss = op.Div(op.reduce("ReduceSum", counted, [1, 2], False), op.scalar(classes, dtype))
    marks = op.reshape(op.cast(is_target, dtype), op.shape(target))
    if len(shape) < 2 and reduction == NONE:
        return op.reshape(loss, ()), marks
    return _reduced(op, loss, reduction), marks


@lowering(aten.multilabel_margin_loss.default)
def multilabel_margin_loss(
    op: Emitter, self: ir.Value, target: ir.Value, reduction: int = MEAN
) -> ir.Value:
    return multilabel_margin_loss_forward(op, self, target, reduction)[0]
