"""Products with packed weights: linear layers, convolutions, matrices."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch.nn import functional as F

from onnxpert.capture.quantised.box import Boxed
from onnxpert.capture.quantised.table import AFTER, into, unchanged
from onnxpert.capture.quantised.weights import (
    Window,
    of_convolution,
    of_half_linear,
    of_linear,
)

if TYPE_CHECKING:
    from onnxpert.capture.quantised.calls import Quantisation

quantized = torch.ops.quantized
Tensor = torch.Tensor

PRODUCTS: dict[Any, Callable[..., Any]] = {}
_kernel = into(PRODUCTS)


def _linear(after: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def kernel(q: Quantisation, x: Boxed, packed: Any, scale: float, zero_point: int) -> Boxed:
        weight, bias = q.floats(q.weights(of_linear, packed))
        return q.rounded(after(F.linear(x.plain, weight, bias)), scale, zero_point, x.affine.dtype)

    return kernel


@_kernel(quantized.linear_leaky_relu.default)
def _linear_leaky_relu(
    q: Quantisation, x: Boxed, packed: Any, scale: float, zero_point: int, slope: float
) -> Boxed:
    return _linear(lambda y: F.leaky_relu(y, slope))(q, x, packed, scale, zero_point)  # type: ignore[no-any-return]


def _linear_dynamic(after: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def kernel(q: Quantisation, x: Tensor, packed: Any, reduce_range: bool = False) -> Tensor:
        weight, bias = q.floats(q.weights(of_linear, packed))
        return after(F.linear(q.in_range(x, reduce_range), weight, bias))

    return kernel


def _linear_half(after: Callable[[Tensor], Tensor]) -> Callable[..., Any]:
    def kernel(q: Quantisation, x: Tensor, packed: Any) -> Tensor:
        weights = q.weights(of_half_linear, packed)
        weight, bias = q.floats(weights)
        return after(F.linear(x, weight, bias))

    return kernel


for _suffix in ("", "_relu"):
    _kernel(getattr(quantized, f"linear{_suffix}").default)(_linear(AFTER[_suffix]))
    _kernel(getattr(quantized, f"linear{_suffix}_dynamic").default)(_linear_dynamic(AFTER[_suffix]))
    _kernel(getattr(quantized, f"linear{_suffix}_dynamic_fp16").default)(
        _linear_half(AFTER[_suffix])
    )
_kernel(quantized.linear_tanh.default)(_linear(torch.tanh))


def _convolved(q: Quantisation, x: Tensor, packed: Any, rank: int, transposed: bool) -> Tensor:
    weights, window = q.weights(of_convolution, packed, rank, transposed)
    weight, bias = q.floats(weights)
    return _moved_over(x, weight, bias, window, rank)


def _moved_over(x: Tensor, weight: Tensor, bias: Any, window: Window, rank: int) -> Tensor:
    if window.transposed:
        call: Any = (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d)[rank - 1]
        out: Tensor = call(
            x,
            weight,
            bias,
            window.stride,
            window.padding,
            window.output_padding,
            window.groups,
            window.dilation,
        )
        return out
    call = (F.conv1d, F.conv2d, F.conv3d)[rank - 1]
    out = call(x, weight, bias, window.stride, window.padding, window.dilation, window.groups)
    return out  # noqa: RET504  named for its type


def _convolution(rank: int, transposed: bool, after: Callable[[Tensor], Tensor]) -> Any:
    def kernel(q: Quantisation, x: Boxed, packed: Any, *rest: Any) -> Boxed:
        scale, zero_point = rest[
            -2:
        ]  # the older form has the window in between, which is packed too
        y = after(_convolved(q, x.plain, packed, rank, transposed))
        return q.rounded(y, scale, zero_point, x.affine.dtype)

    return kernel


def _convolution_dynamic(rank: int, transposed: bool) -> Any:
    def kernel(q: Quantisation, x: Tensor, packed: Any, reduce_range: bool = False) -> Tensor:
        found = q.range_of(x, reduce_range)
        # The result is rounded as well, and by the range of the input.
        return q.to_range(_convolved(q, q.to_range(x, found), packed, rank, transposed), found)

    return kernel


for _rank in (1, 2, 3):
    for _suffix in ("", "_relu"):
        _packet = getattr(quantized, f"conv{_rank}d{_suffix}")
        _kernel(*(getattr(_packet, name) for name in _packet.overloads()))(
            _convolution(_rank, False, AFTER[_suffix])
        )
    _kernel(getattr(quantized, f"conv_transpose{_rank}d").default)(
        _convolution(_rank, True, unchanged)
    )
    _kernel(getattr(quantized, f"conv{_rank}d_dynamic").default)(_convolution_dynamic(_rank, False))
    _kernel(getattr(quantized, f"conv_transpose{_rank}d_dynamic").default)(
        _convolution_dynamic(_rank, True)
    )


def _convolution_add(after: Callable[[Tensor], Tensor]) -> Any:
    def kernel(
        q: Quantisation, x: Boxed, other: Boxed, packed: Any, scale: float, zero_point: int
    ) -> Boxed:
        y = after(_convolved(q, x.plain, packed, 2, False) + other.plain)
        return q.rounded(y, scale, zero_point, x.affine.dtype)

    return kernel


_kernel(quantized.conv2d_add.default)(_convolution_add(unchanged))
_kernel(quantized.conv2d_add_relu.default)(_convolution_add(F.relu))


@_kernel(quantized.matmul.default)
def _matmul(q: Quantisation, a: Boxed, b: Boxed, scale: float, zero_point: int) -> Boxed:
    return q.rounded(a.plain @ b.plain, scale, zero_point, a.affine.dtype)
