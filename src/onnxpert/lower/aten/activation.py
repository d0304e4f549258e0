"""Activation functions."""

from __future__ import annotations

import math
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.exponential import log1p
from onnxpert.lower.aten.linear import scaled
from onnxpert.lower.aten.random import uniform_numbers
from onnxpert.lower.aten.special import erf
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten

_NARROW = {torch.uint8, torch.int8, torch.int16}


def floating(op: Emitter, x: ir.Value) -> ir.Value:
    """As torch's unary float functions take it: integers become the default float."""
    if op.dtype(x).is_floating_point:
        return x
    return op.cast(x, torch.get_default_dtype())


def single(op: Emitter, x: ir.Value) -> bool:
    """Whether the one-node form has a kernel: ONNX Runtime registers most for float32 only, and
    casts float16 by itself."""
    return op.dtype(x) in {torch.float32, torch.float16}


def _wide(op: Emitter, x: ir.Value) -> ir.Value:
    return op.cast(x, torch.int32) if op.dtype(x) in _NARROW else x


def clamped(op: Emitter, x: ir.Value, low: float, high: float) -> ir.Value:
    own = op.dtype(x)
    wide = _wide(op, x)
    dtype = op.dtype(wide)
    return op.cast(op.Clip(wide, op.const(low, dtype), op.const(high, dtype)), own)


@lowering(aten.relu.default)
def relu(op: Emitter, self: ir.Value) -> ir.Value:
    if op.dtype(self).is_floating_point:
        return op.Relu(self)
    wide = _wide(op, self)
    return op.cast(op.Max(wide, 0), op.dtype(self))


@lowering(aten.relu6.default)
def relu6(op: Emitter, self: ir.Value) -> ir.Value:
    return clamped(op, self, 0, 6)


@lowering(aten.hardtanh.default)
def hardtanh(op: Emitter, self: ir.Value, min_val: float = -1, max_val: float = 1) -> ir.Value:
    return clamped(op, self, min_val, max_val)


@lowering(aten.leaky_relu.default)
def leaky_relu(op: Emitter, self: ir.Value, negative_slope: float = 0.01) -> ir.Value:
    if single(op, self):
        return op.LeakyRelu(self, alpha=float(negative_slope))
    return op.Where(op.Greater(self, 0.0), self, op.Mul(self, float(negative_slope)))


@lowering(aten.rrelu.default)
def rrelu(
    op: Emitter,
    self: ir.Value,
    lower: float = 0.125,
    upper: float = 1 / 3,
    training: bool = False,
) -> ir.Value:
    if not training:
        return leaky_relu(op, self, (lower + upper) / 2)
    drawn = uniform_numbers(op, op.shape(self), op.dtype(self))
    slope = op.Add(op.Mul(drawn, float(upper - lower)), float(lower))
    return op.Where(op.Greater(self, 0.0), self, op.Mul(self, slope))


@lowering(aten.prelu.default, aten._prelu_kernel.default)
def prelu(op: Emitter, self: ir.Value, weight: ir.Value) -> ir.Value:
    rank, sizes = op.rank(self), op.shape(weight)
    if len(sizes) == 1 and rank != 1:
        # A slope per channel lies along axis 1 of the input.
        one = isinstance(sizes[0], int) and sizes[0] == 1
        weight = op.reshape(weight, (*sizes, *(1,) * (0 if one else max(rank - 2, 0))))
    if rank == 0:
        weight = op.reshape(weight, ())
    if single(op, self):
        return op.PRelu(self, weight)
    return op.Where(op.Greater(self, 0.0), self, op.Mul(self, weight))


@lowering(aten.elu.default)
def elu(
    op: Emitter, self: ir.Value, alpha: float = 1, scale: float = 1, input_scale: float = 1
) -> ir.Value:
    x = floating(op, self)
    if single(op, x) and scale == 1 and input_scale == 1:
        return op.Elu(x, alpha=float(alpha))
    bent = op.Mul(op.Sub(op.Exp(scaled(op, x, float(input_scale))), 1.0), float(alpha * scale))
    return op.Where(op.Greater(x, 0.0), scaled(op, x, float(scale)), bent)


@lowering(aten.celu.default)
def celu(op: Emitter, self: ir.Value, alpha: float = 1.0) -> ir.Value:
    if op.dtype(self) is torch.float32:
        return op.Celu(self, alpha=float(alpha))
    return elu(op, self, alpha, 1, 1 / alpha)


_SELU_ALPHA = 1.6732632423543772848170429916717
_SELU_SCALE = 1.0507009873554804934193349852946


@lowering(aten.selu.default)
def selu(op: Emitter, self: ir.Value) -> ir.Value:
    if single(op, self):
        return op.Selu(self, alpha=_SELU_ALPHA, gamma=_SELU_SCALE)
    return elu(op, self, _SELU_ALPHA, _SELU_SCALE)


@lowering(aten.gelu.default, since=20)
def gelu_whole(op: Emitter, self: ir.Value, approximate: str = "none") -> ir.Value:
    if not single(op, self):
        return gelu(op, self, approximate)
    return op.Gelu(self, approximate=approximate if approximate != "none" else None)


@lowering(aten.gelu.default)
def gelu(op: Emitter, self: ir.Value, approximate: str = "none") -> ir.Value:
    # Both in the very order of operations that ONNX Runtime knows how to fuse.
    if approximate == "tanh":
        cubic = op.Add(self, op.Mul(op.Pow(self, 3.0), 0.044715))
        bend = op.Tanh(op.Mul(cubic, math.sqrt(2 / math.pi)))
        return op.Mul(op.Mul(self, 0.5), op.Add(bend, 1.0))
    if not single(op, self):
        return op.Mul(op.Mul(self, 0.5), op.Add(erf(op, op.Div(self, math.sqrt(2))), 1.0))
    return op.Mul(op.Mul(self, op.Add(op.Erf(op.Div(self, math.sqrt(2))), 1.0)), 0.5)


@lowering(aten.silu.default)
def silu(op: Emitter, self: ir.Value) -> ir.Value:
    x = floating(op, self)
    return op.Mul(x, op.Sigmoid(x))


@lowering(aten.mish.default)
def mish(op: Emitter, self: ir.Value) -> ir.Value:
    x = floating(op, self)
    return op.Mul(x, op.Tanh(softplus(op, x)))


@lowering(aten.sigmoid.default, aten.special_expit.default)
def sigmoid(op: Emitter, self: ir.Value) -> ir.Value:
    return op.Sigmoid(floating(op, self))


@lowering(aten.tanh.default)
def tanh(op: Emitter, self: ir.Value) -> ir.Value:
    return op.Tanh(floating(op, self))


@lowering(aten.hardsigmoid.default)
def hardsigmoid(op: Emitter, self: ir.Value) -> ir.Value:
    if single(op, self):
        return op.HardSigmoid(self, alpha=1 / 6, beta=0.5)
    return op.Div(op.Clip(op.Add(self, 3.0), 0.0, 6.0), 6.0)


@lowering(aten.hardswish.default)
def hardswish(op: Emitter, self: ir.Value) -> ir.Value:
    return op.Mul(self, hardsigmoid(op, self))


@lowering(aten.softplus.default)
def softplus(op: Emitter, self: ir.Value, beta: float = 1, threshold: float = 20) -> ir.Value:
    x = floating(op, self)
    steep = scaled(op, x, float(beta))
    if single(op, x):
        soft = op.Softplus(steep)
    else:
        soft = op.Add(op.Relu(steep), op.Log(op.Add(op.Exp(op.Neg(op.Abs(steep))), 1.0)))
    soft = soft if beta == 1 else op.Div(soft, float(beta))
    # Beyond 17 the straight line and the curve are one number in float32.
    if single(op, x) and threshold >= 17:
        return soft
    return op.Where(op.Greater(steep, float(threshold)), x, soft)


@lowering(aten.log_sigmoid.default)
def log_sigmoid(op: Emitter, self: ir.Value) -> ir.Value:
    """By the logarithm near 1: far on the right the result is tiny, and not 0."""
    return op.Sub(op.Min(self, 0.0), log1p(op, op.Exp(op.Neg(op.Abs(self)))))


@lowering(aten.log_sigmoid_forward.default)
def log_sigmoid_forward(op: Emitter, self: ir.Value) -> tuple[ir.Value, ir.Value]:
    return log_sigmoid(op, self), op.const([], op.dtype(self))


@lowering(aten.softshrink.default)
def softshrink(op: Emitter, self: ir.Value, lambd: float = 0.5) -> ir.Value:
    return op.Sub(self, op.Clip(self, float(-lambd), float(lambd)))


@lowering(aten.hardshrink.default)
def hardshrink(op: Emitter, self: ir.Value, lambd: float = 0.5) -> ir.Value:
    return op.Where(op.LessOrEqual(op.Abs(self), float(lambd)), 0.0, self)


@lowering(aten.threshold.default)
def threshold(op: Emitter, self: ir.Value, threshold: Any, value: Any) -> ir.Value:
    if threshold == 0 and value == 0:
        return relu(op, self)
    own = op.dtype(self)
    wide = _wide(op, self)
    limit, filler = op.const(threshold, op.dtype(wide)), op.const(value, op.dtype(wide))
    return op.cast(op.Where(op.LessOrEqual(wide, limit), filler, wide), own)


@lowering(aten.glu.default)
def glu(op: Emitter, self: ir.Value, dim: int = -1) -> ir.Value:
    size: Size = op.shape(self)[dim]
    linear, gate = op.split(self, [size // 2, size // 2], dim % op.rank(self))
    return op.Mul(linear, op.Sigmoid(gate))


def _prepared(op: Emitter, x: ir.Value, dtype: torch.dtype | None) -> ir.Value:
    """In the asked dtype; a 0-d tensor gets the axis that ONNX wants."""
    x = op.cast(x, dtype) if dtype is not None else floating(op, x)
    return op.reshape(x, (1,)) if op.rank(x) == 0 else x


def _result_dtype(op: Emitter, third: Any) -> torch.dtype | None:
    """The third argument is a dtype, or (`_softmax`) whether a half becomes a float."""
    if isinstance(third, torch.dtype):
        return third
    return torch.float32 if third is True else None


@lowering(aten.softmax.int, aten.special_softmax.default, aten._softmax.default)
def softmax(op: Emitter, self: ir.Value, dim: int, dtype: Any = None) -> ir.Value:
    x = _prepared(op, self, _result_dtype(op, dtype))
    return op.reshape(op.Softmax(x, axis=dim), op.shape(self))


@lowering(aten.log_softmax.int, aten.special_log_softmax.default, aten._log_softmax.default)
def log_softmax(op: Emitter, self: ir.Value, dim: int, dtype: Any = None) -> ir.Value:
    x = _prepared(op, self, _result_dtype(op, dtype))
    return op.reshape(op.LogSoftmax(x, axis=dim), op.shape(self))


@lowering(aten._safe_softmax.default)
def safe_softmax(
    op: Emitter, self: ir.Value, dim: int, dtype: torch.dtype | None = None
) -> ir.Value:
    """A softmax whose rows of nothing but -inf are zeros, not NaNs."""
    x = _prepared(op, self, dtype)
    open_rows = op.Greater(op.reduce("ReduceMax", x, [dim], True), -math.inf)
    return op.reshape(op.Where(open_rows, op.Softmax(x, axis=dim), 0.0), op.shape(self))
