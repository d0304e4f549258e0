"""Scaled dot-product attention and torch's whole-layer fast paths."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.activation import gelu, gelu_whole, relu
from onnxpert.lower.aten.dropout import dropout
from onnxpert.lower.aten.linear import linear, swapped
from onnxpert.lower.aten.normalisation import layer_norm, layer_norm_whole
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size, is_static, same

aten = torch.ops.aten

_LARGEST_CONSTANT = 1024  # elements; larger ones would be written once per layer


# ---- masks ---------------------------------------------------------------------------------


def _closed(op: Emitter, keep: ir.Value, dtype: torch.dtype) -> ir.Value:
    """What is added to the scores: nothing where `keep` holds, -inf elsewhere."""
    return op.Where(keep, op.const(0.0, dtype), op.const(-math.inf, dtype))


def _causal(op: Emitter, rows: Size, columns: Size, dtype: torch.dtype) -> ir.Value:
    """Each row sees the columns up to its own number."""
    if is_static(rows, columns) and rows * columns <= _LARGEST_CONSTANT:
        bias = torch.full((rows, columns), -math.inf, dtype=dtype).triu(1)
        return op.const(bias)
    zero, one = op.const(0, torch.int64), op.const(1, torch.int64)
    row = op.Range(zero, op.scalar(rows, torch.int64), one)
    column = op.Range(zero, op.scalar(columns, torch.int64), one)
    keep = op.GreaterOrEqual(op.unsqueeze(op.describe(row, (rows,)), 1), column)
    return _closed(op, op.describe(keep, (rows, columns)), dtype)


def _bias(
    op: Emitter, query: ir.Value, key: ir.Value, attn_mask: ir.Value | None, is_causal: bool
) -> ir.Value | None:
    dtype = op.dtype(query)
    if attn_mask is None:
        sizes = op.shape(query)[-2], op.shape(key)[-2]
        return _causal(op, *sizes, dtype) if is_causal else None
    if op.dtype(attn_mask) is torch.bool:
        return _closed(op, attn_mask, dtype)
    return op.cast(attn_mask, dtype)


def _without_empty_rows(op: Emitter, result: ir.Value, bias: ir.Value) -> ir.Value:
    """A row that sees nothing gives zeros, as in torch; a plain softmax would give NaNs.

    The mask says which rows these are, so the test is made on it: it is far smaller than the
    scores, and shared by all the layers that use it."""
    nothing = op.Equal(op.reduce("ReduceMax", bias, [-1], True), -math.inf)
    return op.Where(nothing, op.const(0.0, op.dtype(result)), result)


# ---- one attention -------------------------------------------------------------------------


def _repeated(op: Emitter, x: ir.Value, heads: Size) -> ir.Value:
    """Each head of the key or value as often as query heads share it."""
    *outer, own, length, depth = op.shape(x)
    if same(own, heads):
        return x
    if not is_static(own, heads):
        raise Refusal("grouped attention with a number of heads that is not fixed")
    wide = op.expand(op.unsqueeze(x, -3), (*outer, own, heads // own, length, depth))
    return op.reshape(wide, (*outer, heads, length, depth))


def _factor(op: Emitter, query: ir.Value, scale: float | None) -> Any:
    if scale is not None:
        return scale
    depth = op.shape(query)[-1]
    if isinstance(depth, int):
        return 1 / math.sqrt(depth)
    return op.Div(1.0, op.Sqrt(op.scalar(depth, op.dtype(query))))


def _weights(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    bias: ir.Value | None,
    scale: float | None,
) -> tuple[ir.Value, ir.Value]:
    """The scores and their softmax.

    The scale stands on the query, which is smaller than the scores; runtimes fold it, and the
    transpose, into the product."""
    scores = op.MatMul(op.Mul(query, _factor(op, query, scale)), swapped(op, key))
    if bias is not None:
        scores = op.Add(scores, bias)
    return scores, op.Softmax(scores, axis=-1)


def _attention(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    attn_mask: ir.Value | None,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The result, the softmax and the scores."""
    if enable_gqa:
        heads = op.shape(query)[-3]
        key, value = _repeated(op, key, heads), _repeated(op, value, heads)
    bias = _bias(op, query, key, attn_mask, is_causal)
    scores, weights = _weights(op, query, key, bias, scale)
    weights = dropout(op, weights, dropout_p, True)
    result = op.MatMul(weights, value)
    if attn_mask is not None and bias is not None:
        result = _without_empty_rows(op, result, bias)
    return result, weights, scores


@lowering(aten.scaled_dot_product_attention.default)
def scaled_dot_product_attention(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    attn_mask: ir.Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> ir.Value:
    return _attention(op, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)[0]


@lowering(aten.scaled_dot_product_attention.default, since=23)
def scaled_dot_product_attention_whole(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    attn_mask: ir.Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> ir.Value:
    plain = op.dtype(query) in {torch.float32, torch.float16} and dropout_p == 0
    shapes = [op.shape(one) for one in (query, key, value)]
    if not plain or any(len(shape) != 4 or not is_static(shape[1]) for shape in shapes):
        return scaled_dot_product_attention(
            op, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
        )
    mask = attn_mask
    if mask is not None:
        wanted = (shapes[0][2], shapes[1][2])
        mask = op.expand(mask, (*op.shape(mask)[:-2], *wanted))
    result = op.Attention(query, key, value, mask, scale=scale, is_causal=int(is_causal))
    op.describe(result, (*shapes[0][:3], shapes[2][3]))
    if mask is None:
        return result
    bias = _bias(op, query, key, mask, is_causal=False)
    return _without_empty_rows(op, result, bias) if bias is not None else result


# ---- what torch's dispatcher makes of it ---------------------------------------------------


def _log_sum(op: Emitter, scores: ir.Value) -> ir.Value:
    return op.reduce("ReduceLogSumExp", scores, [-1], False)


@lowering(aten._scaled_dot_product_attention_math.default)
def attention_math(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    attn_mask: ir.Value | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    dropout_mask: ir.Value | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    if dropout_mask is not None:
        raise Refusal("attention with a dropout mask of its own")
    result, weights, _ = _attention(
        op, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
    )
    return result, weights


@lowering(aten._scaled_dot_product_flash_attention_for_cpu.default)
def attention_for_cpu(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    attn_mask: ir.Value | None = None,
    scale: float | None = None,
) -> Any:
    result, _, scores = _attention(
        op, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa=False
    )
    return result, _log_sum(op, scores)


@lowering(aten._scaled_dot_product_flash_attention.default)
def flash_attention(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    scale: float | None = None,
) -> Any:
    result, _, scores = _attention(
        op, query, key, value, None, dropout_p, is_causal, scale, enable_gqa=False
    )
    # The rest is for the backward pass: nothing in an exported graph reads it.
    return result, _log_sum(op, scores), *(None,) * 7


@lowering(
    aten._scaled_dot_product_efficient_attention.default,
    aten._scaled_dot_product_cudnn_attention.default,
)
def efficient_attention(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    attn_bias: ir.Value | None,
    compute_log_sumexp: bool,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    return_debug_mask: bool = False,
    scale: float | None = None,
) -> Any:
    result, _, scores = _attention(
        op, query, key, value, attn_bias, dropout_p, is_causal, scale, enable_gqa=False
    )
    return result, _log_sum(op, scores), *(None,) * 7


# ---- the fast paths of nn.MultiheadAttention and nn.TransformerEncoderLayer ----------------


def _fast_bias(
    op: Emitter, mask: ir.Value | None, mask_type: int | None, dtype: torch.dtype
) -> Any:
    """The fast path reads any mask as booleans: true, or not zero, is shut."""
    if mask is None:
        return None
    if mask_type == 1:  # one row of keys per batch entry
        batch, length = op.shape(mask)
        mask = op.reshape(mask, (batch, 1, 1, length))
    shut = op.cast(mask, torch.bool)
    return op.Where(shut, op.const(-math.inf, dtype), op.const(0.0, dtype))


@lowering(aten._native_multi_head_attention.default)
def multi_head_attention(
    op: Emitter,
    query: ir.Value,
    key: ir.Value,
    value: ir.Value,
    embed_dim: int,
    num_head: int,
    qkv_weight: ir.Value,
    qkv_bias: ir.Value,
    proj_weight: ir.Value,
    proj_bias: ir.Value,
    mask: ir.Value | None = None,
    need_weights: bool = True,
    average_attn_weights: bool = True,
    mask_type: int | None = None,
) -> Any:
    parts = [embed_dim] * 3
    weights, biases = op.split(qkv_weight, parts, 0), op.split(qkv_bias, parts, 0)
    heads = []
    for source, weight, bias in zip((query, key, value), weights, biases, strict=True):
        batch, length, _ = op.shape(source)
        flat = linear(op, source, weight, bias)
        apart = op.reshape(flat, (batch, length, num_head, embed_dim // num_head))
        heads.append(op.Transpose(apart, perm=[0, 2, 1, 3]))
    bias = _fast_bias(op, mask, mask_type, op.dtype(query))
    # A row that sees nothing is NaN here, unlike in the plain function.
    _, shares = _weights(op, heads[0], heads[1], bias, None)
    mixed = op.Transpose(op.MatMul(shares, heads[2]), perm=[0, 2, 1, 3])
    result = linear(op, op.reshape(mixed, op.shape(query)), proj_weight, proj_bias)
    if not need_weights:
        return result, None
    if average_attn_weights:
        shares = op.reduce("ReduceMean", shares, [1], False)
    return result, shares


@lowering(aten._transformer_encoder_layer_fwd.default)
def transformer_encoder_layer(
    op: Emitter,
    src: ir.Value,
    embed_dim: int,
    num_heads: int,
    qkv_weight: ir.Value,
    qkv_bias: ir.Value,
    proj_weight: ir.Value,
    proj_bias: ir.Value,
    use_gelu: bool,
    norm_first: bool,
    eps: float,
    norm_weight_1: ir.Value,
    norm_bias_1: ir.Value,
    norm_weight_2: ir.Value,
    norm_bias_2: ir.Value,
    ffn_weight_1: ir.Value,
    ffn_bias_1: ir.Value,
    ffn_weight_2: ir.Value,
    ffn_bias_2: ir.Value,
    mask: ir.Value | None = None,
    mask_type: int | None = None,
) -> ir.Value:
    norm = layer_norm_whole if op.opset >= 17 else layer_norm
    bend = relu if not use_gelu else gelu_whole if op.opset >= 20 else gelu

    def first(x: ir.Value) -> ir.Value:
        return norm(op, x, [embed_dim], norm_weight_1, norm_bias_1, eps)

    def second(x: ir.Value) -> ir.Value:
        return norm(op, x, [embed_dim], norm_weight_2, norm_bias_2, eps)

    def attend(x: ir.Value) -> ir.Value:
        projections = (qkv_weight, qkv_bias, proj_weight, proj_bias)
        return multi_head_attention(
            op, x, x, x, embed_dim, num_heads, *projections, mask, False, False, mask_type
        )[0]

    def feed(x: ir.Value) -> ir.Value:
        return linear(
            op, bend(op, linear(op, x, ffn_weight_1, ffn_bias_1)), ffn_weight_2, ffn_bias_2
        )

    if norm_first:
        x = op.Add(src, attend(first(src)))
        return op.Add(x, feed(second(x)))
    x = first(op.Add(src, attend(src)))
    return second(op.Add(x, feed(x)))
