"""Normalisation layers: batch, instance, layer, group and RMS norm, and weight norm."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.norms import norm_except_dim
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, is_static

aten = torch.ops.aten

_HALVES = {torch.float16, torch.bfloat16}  # torch keeps their statistics in float32
_LARGEST_CONSTANT = 1024  # elements; larger ones are spread at load time, not written to the file


def _filled(op: Emitter, value: float, sizes: Sequence[Size], dtype: torch.dtype) -> ir.Value:
    """A tensor of one value."""
    if is_static(*sizes) and product(sizes) <= _LARGEST_CONSTANT:
        return op.const(torch.full(tuple(sizes), value, dtype=dtype))
    return op.expand(op.const(value, dtype), sizes)


def _per_channel(op: Emitter, value: ir.Value, rank: int) -> ir.Value:
    """A vector laid along axis 1 of a tensor of that rank."""
    return op.reshape(value, (*op.shape(value), *(1,) * (rank - 2)))


def _affine(op: Emitter, x: ir.Value, weight: ir.Value | None, bias: ir.Value | None) -> ir.Value:
    if weight is not None:
        x = op.Mul(x, weight)
    return x if bias is None else op.Add(x, bias)


def _statistics(
    op: Emitter, x: ir.Value, axes: Sequence[int], eps: float
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """The mean, the deviation from it, and one over its spread."""
    mean = op.reduce("ReduceMean", x, axes, True)
    deviation = op.Sub(x, mean)
    variance = op.reduce("ReduceMean", op.Mul(deviation, deviation), axes, True)
    return mean, deviation, op.Div(1.0, op.Sqrt(op.Add(variance, eps)))


# ---- batch norm ----------------------------------------------------------------------------


@lowering(aten.batch_norm.default)
def batch_norm(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    running_mean: ir.Value | None,
    running_var: ir.Value | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> ir.Value:
    dtype, rank = op.dtype(input), op.rank(input)
    if training or running_mean is None or running_var is None:
        axes = [axis for axis in range(rank) if axis != 1]
        wide = op.cast(input, torch.float32) if dtype in _HALVES else input
        _, deviation, spread = _statistics(op, wide, axes, eps)
        scale, shift = (
            None if value is None else op.cast(_per_channel(op, value, rank), op.dtype(wide))
            for value in (weight, bias)
        )
        return op.cast(_affine(op, op.Mul(deviation, spread), scale, shift), dtype)
    channels = op.shape(running_mean)
    scale = _filled(op, 1, channels, dtype) if weight is None else op.cast(weight, dtype)
    shift = _filled(op, 0, channels, dtype) if bias is None else op.cast(bias, dtype)
    return op.BatchNormalization(
        input, scale, shift, op.cast(running_mean, dtype), op.cast(running_var, dtype), epsilon=eps
    )


def _batch_statistics(op: Emitter, input: ir.Value, training: bool, eps: float) -> Any:
    if not training:  # torch gives empty tensors in their place
        return op.const([], op.dtype(input)), op.const([], op.dtype(input))
    axes = [axis for axis in range(op.rank(input)) if axis != 1]
    mean, _, spread = _statistics(op, input, axes, eps)
    sizes = (op.shape(input)[1],)
    return op.reshape(mean, sizes), op.reshape(spread, sizes)


@lowering(aten.native_batch_norm.default, aten._native_batch_norm_legit.default)
def native_batch_norm(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    running_mean: ir.Value | None,
    running_var: ir.Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    result = batch_norm(op, input, weight, bias, running_mean, running_var, training, momentum, eps)
    return result, *_batch_statistics(op, input, training, eps)


@lowering(aten._native_batch_norm_legit.no_stats)
def batch_norm_no_stats(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    return native_batch_norm(op, input, weight, bias, None, None, True, momentum, eps)


@lowering(aten._native_batch_norm_legit_no_training.default)
def batch_norm_no_training(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    running_mean: ir.Value,
    running_var: ir.Value,
    momentum: float,
    eps: float,
) -> Any:
    return native_batch_norm(
        op, input, weight, bias, running_mean, running_var, False, momentum, eps
    )


@lowering(aten._batch_norm_no_update.default)
def batch_norm_no_update(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    running_mean: ir.Value | None,
    running_var: ir.Value | None,
    momentum: float,
    eps: float,
) -> Any:
    whole = native_batch_norm(
        op, input, weight, bias, running_mean, running_var, False, momentum, eps
    )
    return *whole, op.const([], torch.uint8)


# ---- instance and group norm ---------------------------------------------------------------


@lowering(aten.instance_norm.default)
def instance_norm(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    running_mean: ir.Value | None,
    running_var: ir.Value | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> ir.Value:
    if not use_input_stats:
        return batch_norm(op, input, weight, bias, running_mean, running_var, False, momentum, eps)
    dtype, rank, channels = op.dtype(input), op.rank(input), op.shape(input)[1:2]
    if dtype is torch.float32:
        scale = _filled(op, 1, channels, dtype) if weight is None else weight
        shift = _filled(op, 0, channels, dtype) if bias is None else bias
        return op.InstanceNormalization(input, scale, shift, epsilon=eps)
    wide = op.cast(input, torch.float32) if dtype in _HALVES else input
    _, deviation, spread = _statistics(op, wide, range(2, rank), eps)
    factors = (
        None if value is None else op.cast(_per_channel(op, value, rank), op.dtype(wide))
        for value in (weight, bias)
    )
    return op.cast(_affine(op, op.Mul(deviation, spread), *factors), dtype)


@lowering(aten.group_norm.default)
def group_norm(
    op: Emitter,
    input: ir.Value,
    num_groups: int,
    weight: ir.Value | None = None,
    bias: ir.Value | None = None,
    eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> ir.Value:
    batch, channels, *rest = op.shape(input)
    if channels == num_groups and rest and weight is not None and bias is not None:
        return instance_norm(op, input, weight, bias, None, None, True, 0.0, eps)
    # ONNX Runtime has a kernel for the instance norm and none for the group norm.
    members = channels // num_groups * product(rest)
    groups = op.reshape(input, (batch, num_groups, members))
    plain = instance_norm(op, groups, None, None, None, None, True, 0.0, eps)
    result = op.reshape(plain, (batch, channels, *rest))
    factors = (
        None if value is None else op.cast(_per_channel(op, value, op.rank(input)), op.dtype(input))
        for value in (weight, bias)
    )
    return _affine(op, result, *factors)


@lowering(aten.native_group_norm.default)
def native_group_norm(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value | None,
    bias: ir.Value | None,
    N: Size,  # noqa: N803 - ATen's own names
    C: Size,  # noqa: N803
    HxW: Size,  # noqa: N803
    group: int,
    eps: float,
) -> Any:
    groups = op.reshape(input, (N, group, C // group * HxW))
    mean, _, spread = _statistics(op, groups, [2], eps)
    result = group_norm(op, input, group, weight, bias, eps)
    return result, op.reshape(mean, (N, group)), op.reshape(spread, (N, group))


# ---- layer norm ----------------------------------------------------------------------------


@lowering(aten.layer_norm.default, since=17)
def layer_norm_whole(
    op: Emitter,
    input: ir.Value,
    normalized_shape: Sequence[Size],
    weight: ir.Value | None = None,
    bias: ir.Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> ir.Value:
    dtype = op.dtype(input)
    scale = _filled(op, 1, normalized_shape, dtype) if weight is None else op.cast(weight, dtype)
    shift = None if bias is None else op.cast(bias, dtype)
    return op.LayerNormalization(input, scale, shift, axis=-len(normalized_shape), epsilon=eps)


@lowering(aten.layer_norm.default)
def layer_norm(
    op: Emitter,
    input: ir.Value,
    normalized_shape: Sequence[Size],
    weight: ir.Value | None = None,
    bias: ir.Value | None = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> ir.Value:
    # Step by step as ONNX Runtime fuses it.
    axes = list(range(-len(normalized_shape), 0))
    deviation = op.Sub(input, op.reduce("ReduceMean", input, axes, True))
    variance = op.reduce("ReduceMean", op.Pow(deviation, 2.0), axes, True)
    return _affine(op, op.Div(deviation, op.Sqrt(op.Add(variance, eps))), weight, bias)


@lowering(aten.native_layer_norm.default)
def native_layer_norm(
    op: Emitter,
    input: ir.Value,
    normalized_shape: Sequence[Size],
    weight: ir.Value | None,
    bias: ir.Value | None,
    eps: float,
) -> Any:
    whole = layer_norm_whole if op.opset >= 17 else layer_norm
    axes = list(range(-len(normalized_shape), 0))
    mean, _, spread = _statistics(op, input, axes, eps)
    return whole(op, input, normalized_shape, weight, bias, eps), mean, spread


# ---- RMS norm ------------------------------------------------------------------------------


def _epsilon(op: Emitter, input: ir.Value, eps: float | None) -> float:
    # Half precision is computed in float32 there, and takes the smallest step of that.
    wide = torch.promote_types(op.dtype(input), torch.float32)
    return torch.finfo(wide).eps if eps is None else eps


@lowering(aten.rms_norm.default, since=23)
def rms_norm_whole(
    op: Emitter,
    input: ir.Value,
    normalized_shape: Sequence[Size],
    weight: ir.Value | None = None,
    eps: float | None = None,
) -> ir.Value:
    dtype = op.dtype(input)
    if dtype in {torch.bfloat16, torch.float64}:
        return rms_norm(op, input, normalized_shape, weight, eps)
    scale = _filled(op, 1, normalized_shape, dtype) if weight is None else op.cast(weight, dtype)
    return op.RMSNormalization(
        input, scale, axis=-len(normalized_shape), epsilon=_epsilon(op, input, eps)
    )


@lowering(aten.rms_norm.default)
def rms_norm(
    op: Emitter,
    input: ir.Value,
    normalized_shape: Sequence[Size],
    weight: ir.Value | None = None,
    eps: float | None = None,
) -> ir.Value:
    # Step by step as ONNX Runtime fuses it, which it only does with a weight: hence the ones.
    # Not so in float64, where the fused kernel counts in float32.
    dtype = op.dtype(input)
    double = dtype is torch.float64
    wide = op.cast(input, torch.float32) if dtype in _HALVES else input
    square = op.Mul(wide, wide) if double else op.Pow(wide, 2.0)
    mean = op.reduce("ReduceMean", square, list(range(-len(normalized_shape), 0)), True)
    result = op.cast(op.Div(wide, op.Sqrt(op.Add(mean, _epsilon(op, input, eps)))), dtype)
    if weight is None and not double:
        weight = _filled(op, 1, normalized_shape, dtype)
    return result if weight is None else op.Mul(result, weight)


@lowering(aten._fused_rms_norm.default)
def fused_rms_norm(
    op: Emitter,
    input: ir.Value,
    normalized_shape: Sequence[Size],
    weight: ir.Value | None,
    eps: float | None,
) -> Any:
    whole = rms_norm_whole if op.opset >= 23 else rms_norm
    axes = list(range(-len(normalized_shape), 0))
    mean = op.reduce("ReduceMean", op.Mul(input, input), axes, True)
    spread = op.Div(1.0, op.Sqrt(op.Add(mean, _epsilon(op, input, eps))))
    return whole(op, input, normalized_shape, weight, eps), spread


# ---- weight norm ---------------------------------------------------------------------------


@lowering(aten._weight_norm.default)
def weight_norm(op: Emitter, v: ir.Value, g: ir.Value, dim: int = 0) -> ir.Value:
    return op.Mul(v, op.Div(g, norm_except_dim(op, v, 2, dim)))


@lowering(aten._weight_norm_interface.default)
def weight_norm_interface(op: Emitter, v: ir.Value, g: ir.Value, dim: int = 0) -> Any:
    return weight_norm(op, v, g, dim), norm_except_dim(op, v, 2, dim)
