"""Kernels that work value by value, or on a few axes, each with a scale for its result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from onnxpert.capture.quantised.box import Affine, Boxed
from onnxpert.capture.quantised.table import AFTER, into, unchanged

if TYPE_CHECKING:
    from onnxpert.capture.quantised.calls import Quantisation

aten = torch.ops.aten
quantized = torch.ops.quantized
Tensor = torch.Tensor

POINTWISE: dict[Any, Callable[..., Any]] = {}
_kernel = into(POINTWISE)


def _binary(compute: Callable[..., Tensor], after: Callable[[Tensor], Tensor]) -> Any:
    def kernel(q: Quantisation, a: Boxed, b: Boxed, scale: float, zero_point: int) -> Boxed:
        return q.rounded(after(compute(a.plain, b.plain)), scale, zero_point, a.affine.dtype)

    return kernel


def _shifted(q: Quantisation, box: Boxed, number: Any) -> Boxed:
    """A number is added by moving the zero point, in whole steps, as long as there is room."""
    own = box.whole
    steps = round(float(q.number(number)) / own.scale)
    moved = own.zero_point - steps
    if own.lowest <= moved <= own.highest:
        return q.box(box.plain + steps * own.scale, Affine(own.scale, moved, own.dtype))
    if moved < own.lowest:
        scale = (own.highest - moved) / (own.highest - own.lowest) * own.scale
        return q.rounded(box.plain + steps * own.scale, scale, own.lowest, own.dtype)
    scale = (moved - own.lowest) / (own.highest - own.lowest) * own.scale
    return q.rounded(box.plain + steps * own.scale, scale, own.highest, own.dtype)


def _stretched(q: Quantisation, box: Boxed, number: Any) -> Boxed:
    """A number is multiplied into the scale."""
    own, factor = box.whole, float(q.number(number))
    if factor == 0:
        return q.box(box.plain * 0.0, Affine(1.0, 0, own.dtype))
    mirrored = own.highest - (own.zero_point - own.lowest)
    zero_point = own.zero_point if factor > 0 else mirrored
    return q.box(box.plain * factor, Affine(own.scale * abs(factor), zero_point, own.dtype))


def _with_relu(kernel: Callable[..., Boxed]) -> Callable[..., Boxed]:
    def both(q: Quantisation, box: Boxed, number: Any) -> Boxed:
        out = kernel(q, box, number)
        return q.box(F.relu(out.plain), out.whole)

    return both


def _swapped(kernel: Callable[..., Boxed]) -> Callable[..., Boxed]:
    return lambda q, number, box: kernel(q, box, number)


for _name, _compute, _by_number in (
    ("add", torch.add, _shifted),
    ("mul", torch.mul, _stretched),
):
    for _suffix in ("", "_relu"):
        _packet = getattr(quantized, f"{_name}{_suffix}")
        _alone = _with_relu(_by_number) if _suffix else _by_number
        _kernel(_packet.default)(_binary(_compute, AFTER[_suffix]))
        _kernel(_packet.Scalar)(_alone)
        _kernel(_packet.Scalar2)(_swapped(_alone))
        _scalar = getattr(quantized, f"{_name}_scalar{_suffix}")
        _kernel(_scalar.default, _scalar.Tensor)(_alone)


def _joined(after: Callable[[Tensor], Tensor]) -> Any:
    def kernel(
        q: Quantisation, boxes: Sequence[Boxed], dim: int, scale: Any, zero_point: Any
    ) -> Boxed:
        first = boxes[0].whole
        y = after(torch.cat([box.plain for box in boxes], dim))
        scale = first.scale if scale is None else scale
        zero_point = first.zero_point if zero_point is None else zero_point
        return q.rounded(y, scale, zero_point, first.dtype)

    return kernel


_kernel(quantized.cat.default)(_joined(unchanged))
_kernel(quantized.cat_relu.default)(_joined(F.relu))


def _unary(name: str, compute: Callable[..., Tensor]) -> None:
    """Of operators whose last two arguments are scale and zero point of the result."""

    def kernel(q: Quantisation, x: Boxed, *rest: Any) -> Boxed:
        *given, scale, zero_point = rest
        return q.rounded(compute(x.plain, *given), scale, zero_point, x.affine.dtype)

    _kernel(getattr(quantized, name).default)(kernel)


def _normalised(after: Callable[[Tensor], Tensor]) -> Callable[..., Tensor]:
    def compute(x: Tensor, weight: Any, bias: Any, mean: Tensor, var: Tensor, eps: float) -> Tensor:
        return after(F.batch_norm(x, mean, var, weight, bias, False, 0.0, eps))

    return compute


for _name in ("batch_norm", "batch_norm1d", "batch_norm2d", "batch_norm3d"):
    _unary(_name, _normalised(unchanged))
    _unary(f"{_name}_relu", _normalised(F.relu))
_unary("layer_norm", F.layer_norm)
_unary("group_norm", F.group_norm)
_unary("instance_norm", lambda x, w, b, eps: F.instance_norm(x, weight=w, bias=b, eps=eps))
_unary("hardswish", F.hardswish)
_unary("leaky_relu", lambda x, slope, inplace: F.leaky_relu(x, slope))
_unary("sigmoid", torch.sigmoid)
_unary("softmax", torch.softmax)
_unary("prelu", F.prelu)


@_kernel(quantized.elu.default)
def _elu(
    q: Quantisation,
    x: Boxed,
    scale: float,
    zero_point: int,
    alpha: Any = 1,
    factor: Any = 1,
    input_factor: Any = 1,
) -> Boxed:
    y = aten.elu.default(x.plain, alpha, factor, input_factor)
    return q.rounded(y, scale, zero_point, x.affine.dtype)


@_kernel(quantized.celu.default)
def _celu(q: Quantisation, x: Boxed, scale: float, zero_point: int, alpha: Any = 1) -> Boxed:
    return q.rounded(F.celu(x.plain, alpha), scale, zero_point, x.affine.dtype)


@_kernel(quantized.dropout.default)
def _dropout(
    q: Quantisation, x: Boxed, scale: float, zero_point: int, p: Any = 0.5, training: bool = False
) -> Boxed:
    return q.rounded(F.dropout(x.plain, p, training), scale, zero_point, x.affine.dtype)


def _in_own_scale(name: str, compute: Callable[..., Tensor]) -> None:
    def kernel(q: Quantisation, x: Boxed, *rest: Any) -> Boxed:
        return q.rounded(compute(x.plain, *rest), x.whole.scale, x.whole.zero_point, x.affine.dtype)

    _kernel(getattr(quantized, name).default)(kernel)


_in_own_scale("relu6", lambda x, inplace=False: F.relu6(x))
_in_own_scale("threshold", F.threshold)
_in_own_scale("clamp", lambda x, low=None, high=None: torch.clamp(x, low, high))
_in_own_scale("max_pool1d", F.max_pool1d)
_in_own_scale("max_pool2d", F.max_pool2d)
