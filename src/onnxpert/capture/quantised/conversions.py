"""Into quantised tensors and out of them, and what they say of themselves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch

from onnxpert.capture.quantised.box import Affine, Boxed, Channels, UnreadQuantisedError
from onnxpert.capture.quantised.table import into

if TYPE_CHECKING:
    from onnxpert.capture.quantised.calls import Quantisation

aten = torch.ops.aten
Tensor = torch.Tensor

CONVERSIONS: dict[Any, Callable[..., Any]] = {}
_kernel = into(CONVERSIONS)


@_kernel(aten.quantize_per_tensor.default, aten.quantize_per_tensor.tensor_qparams)
def _quantize(q: Quantisation, x: Tensor, scale: Any, zero_point: Any, dtype: torch.dtype) -> Boxed:
    return q.rounded(x, q.number(scale), int(q.number(zero_point)), dtype)


@_kernel(aten.quantize_per_channel.default)
def _quantize_channels(
    q: Quantisation, x: Tensor, scales: Tensor, zero_points: Tensor, axis: int, dtype: torch.dtype
) -> Boxed:
    if zero_points.is_floating_point():
        raise UnreadQuantisedError("a zero point that is no whole number")
    return q.rounded_by_channel(x, Channels(scales, zero_points, axis, dtype))


@_kernel(aten.q_per_channel_scales.default)
def _scales(q: Quantisation, box: Boxed) -> Tensor:
    return box.by_channel.scales.double()


@_kernel(aten.q_per_channel_zero_points.default)
def _zero_points(q: Quantisation, box: Boxed) -> Tensor:
    return box.by_channel.zero_points.long()


@_kernel(aten.q_per_channel_axis.default)
def _axis(q: Quantisation, box: Boxed) -> int:
    return box.by_channel.axis


@_kernel(aten.dequantize.self)
def _dequantize(q: Quantisation, box: Boxed) -> Tensor:
    return box.plain


@_kernel(aten.dequantize.tensors)
def _dequantize_all(q: Quantisation, boxes: Sequence[Boxed]) -> list[Tensor]:
    return [box.plain for box in boxes]


@_kernel(torch.ops.prim.device.default)
def _device(q: Quantisation, box: Boxed) -> torch.device:
    return box.plain.device


@_kernel(aten.q_scale.default)
def _scale(q: Quantisation, box: Boxed) -> float:
    return box.whole.scale


@_kernel(aten.q_zero_point.default)
def _zero_point(q: Quantisation, box: Boxed) -> int:
    return box.whole.zero_point


@_kernel(aten.qscheme.default)
def _qscheme(q: Quantisation, box: Boxed) -> Any:
    return torch.per_tensor_affine if isinstance(box.affine, Affine) else torch.per_channel_affine


@_kernel(aten.int_repr.default)
def _int_repr(q: Quantisation, box: Boxed) -> Tensor:
    if box.integers is None:
        own = box.whole
        box.integers = q.rounded(box.plain, own.scale, own.zero_point, own.dtype).integers
    assert box.integers is not None
    return box.integers
