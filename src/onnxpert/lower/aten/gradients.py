"""Steps backwards through layers: a model that differentiates inside of its forward (forces, guidance)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.attention import attention_math
from onnxpert.lower.aten.convolution import convolution
from onnxpert.lower.aten.counting import most
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.aten.windows import per_axis
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, is_static

aten = torch.ops.aten
_WEIGHTS = "the gradient of weights is asked for, which is training"


def _spread(
    op: Emitter,
    grad: ir.Value,
    weight: ir.Value,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
    sizes: Sequence[Size],
) -> ir.Value:
    """What a convolution read, each element with the sum of all that was made of it."""
    axes = len(sizes)
    none = [0] * axes
    whole = convolution(op, grad, weight, None, stride, none, dilation, True, none, groups)
    reached = op.shape(whole)[2:]
    ends = [p + size for p, size in zip(padding, sizes, strict=True)]
    short = [most(end - size, 0) for end, size in zip(ends, reached, strict=True)]
    if not (is_static(*short) and not any(short)):
        # Windows need not reach the last elements: nothing was made of those.
        padded = op.Pad(whole, op.ints([0] * (axes + 4) + short))
        lead = op.shape(whole)[:2]
        grown = [size + more for size, more in zip(reached, short, strict=True)]
        whole = op.describe(padded, (*lead, *grown))
    places = op.const(list(range(2, axes + 2)), torch.int64)
    cut = op.Slice(whole, op.ints(padding), op.ints(ends), places)
    return op.describe(cut, (*op.shape(whole)[:2], *sizes))


@lowering(aten.convolution_backward.default)
def convolution_backward(
    op: Emitter,
    grad_output: ir.Value,
    input: ir.Value,
    weight: ir.Value,
    bias_sizes: Any,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    output_mask: Sequence[bool],
) -> tuple[Any, Any, Any]:
    if output_mask[1] or output_mask[2]:
        raise Refusal(_WEIGHTS)
    if transposed:
        none = [0] * len(stride)
        back = convolution(
            op, grad_output, weight, None, stride, padding, dilation, False, none, groups
        )
        return back, None, None
    sizes = op.shape(input)[2:]
    back = _spread(op, grad_output, weight, stride, padding, dilation, groups, sizes)
    return back, None, None


@lowering(aten.avg_pool2d_backward.default)
def avg_pool2d_backward(
    op: Emitter,
    grad_output: ir.Value,
    self: ir.Value,
    kernel_size: Sequence[int],
    stride: Sequence[int],
    padding: Sequence[int],
    ceil_mode: bool,
    count_include_pad: bool,
    divisor_override: int | None,
) -> ir.Value:
    if ceil_mode or (any(padding) and not count_include_pad and divisor_override is None):
        raise Refusal("the gradient of a mean over windows of several sizes")
    height, width = per_axis(kernel_size, 2)
    steps = per_axis(stride, 2) if stride else [height, width]
    around = per_axis(padding, 2)
    share = 1 / (divisor_override or height * width)
    dtype = op.dtype(self)
    weight = op.const(torch.full((1, 1, height, width), share, dtype=dtype))
    *lead, rows, columns = op.shape(self)
    flat = op.reshape(grad_output, (product(lead), 1, *op.shape(grad_output)[-2:]))
    back = _spread(op, flat, weight, steps, around, [1, 1], 1, (rows, columns))
    return op.reshape(back, (*lead, rows, columns))


@lowering(aten._adaptive_avg_pool2d_backward.default)
def adaptive_avg_pool2d_backward(op: Emitter, grad_output: ir.Value, self: ir.Value) -> ir.Value:
    """Two matrix products: each element has a share of the windows it is in."""
    after, before = op.shape(grad_output)[-2:], op.shape(self)[-2:]
    if not is_static(*after, *before):
        raise Refusal("the gradient of a mean over windows whose sizes are not fixed")
    down, across = (
        _shares(int(a), int(b), op.dtype(self)) for a, b in zip(after, before, strict=True)
    )
    return op.MatMul(op.MatMul(op.const(down.mT.contiguous()), grad_output), op.const(across))


def _shares(windows: int, size: int, dtype: torch.dtype) -> torch.Tensor:
    """What each window takes of each element."""
    shares = torch.zeros(windows, size, dtype=dtype)
    for window in range(windows):
        start, end = window * size // windows, -(-(window + 1) * size // windows)
        shares[window, start:end] = 1 / (end - start)
    return shares


# ---- distances -----------------------------------------------------------------------------


def _pull(op: Emitter, grad: ir.Value, gap: ir.Value, p: float, distance: ir.Value) -> ir.Value:
    """How the distance of two rows changes with the first of them; not at all where it is zero."""
    dtype = op.dtype(gap)
    zero, one = op.scalar(0.0, dtype), op.scalar(1.0, dtype)
    apart = op.Not(op.Equal(distance, zero))
    if p == 0:
        return op.Mul(gap, zero)
    if p == 1:
        return op.Mul(op.Sign(gap), grad)
    if p == math.inf:
        furthest = op.cast(op.Equal(op.Abs(gap), distance), dtype)
        return op.Mul(op.Mul(op.Sign(gap), furthest), grad)
    safe = op.Where(apart, distance, one)
    if p == 2:
        slope = op.Div(gap, safe)
    else:
        size = op.Abs(op.Div(gap, safe))
        moved = op.Greater(size, zero)
        slope = op.Mul(op.Sign(gap), op.Pow(op.Where(moved, size, one), p - 1))
    return op.Mul(op.Where(apart, slope, zero), grad)


@lowering(aten._cdist_backward.default)
def cdist_backward(
    op: Emitter, grad_output: ir.Value, x1: ir.Value, x2: ir.Value, p: float, cdist: ir.Value
) -> ir.Value:
    gap = op.Sub(op.unsqueeze(x1, op.rank(x1) - 1), op.unsqueeze(x2, op.rank(x2) - 2))
    grad, distance = (op.unsqueeze(each, op.rank(each)) for each in (grad_output, cdist))
    return op.reduce("ReduceSum", _pull(op, grad, gap, p, distance), [op.rank(gap) - 2], False)


# ---- attention -----------------------------------------------------------------------------


@lowering(aten._scaled_dot_product_flash_attention_for_cpu_backward.default)
def attention_for_cpu_backward(
    op: Emitter,
    grad_out: ir.Value,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    out: ir.Value,
    logsumexp: ir.Value,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: ir.Value | None = None,
    scale: float | None = None,
) -> tuple[Any, Any, Any]:
    if dropout_p:
        raise Refusal("the gradient of an attention that drops")
    width = op.shape(query)[-1]
    if scale is None and not is_static(width):
        raise Refusal("the gradient of an attention whose heads have no fixed size")
    factor = 1 / math.sqrt(int(width)) if scale is None else scale
    _, weights = attention_math(op, query, key, value, attn_mask, 0.0, is_causal, None, scale=scale)
    own = op.reduce("ReduceSum", op.Mul(grad_out, out), [op.rank(out) - 1], True)
    towards = op.Sub(op.MatMul(grad_out, swapped(op, value)), own)
    scores = op.Mul(op.Mul(weights, towards), factor)
    return (
        op.MatMul(scores, key),
        op.MatMul(swapped(op, scores), query),
        op.MatMul(swapped(op, weights), grad_out),
    )
