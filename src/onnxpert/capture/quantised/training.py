"""Quantisation-aware training: operators that round, and on the way learn what to round to."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

if TYPE_CHECKING:
    from onnxpert.capture.quantised.calls import Quantisation

aten = torch.ops.aten
Tensor = torch.Tensor


class ObservingError(RuntimeError):
    """An observer is on: each call changes the scale that the next one rounds to."""

    def __init__(self) -> None:
        super().__init__("an observer is on, and changes the scale with every call")


def _moving_average(
    q: Quantisation,
    x: Tensor,
    observer_on: Tensor,
    fake_quant_on: Tensor,
    running_min: Tensor,
    running_max: Tensor,
    scale: Tensor,
    zero_point: Tensor,
    averaging_const: float,
    quant_min: int,
    quant_max: int,
    ch_axis: int,
    per_row_fake_quant: bool = False,
    symmetric_quant: bool = False,
) -> Tensor:
    if q.number(observer_on):
        raise ObservingError
    if not q.number(fake_quant_on):
        return aten.alias.default(x)  # type: ignore[no-any-return]
    if per_row_fake_quant:
        return torch.fake_quantize_per_channel_affine(
            x, scale, zero_point, ch_axis, quant_min, quant_max
        )
    return torch.fake_quantize_per_tensor_affine(x, scale, zero_point, quant_min, quant_max)


TRAINING: dict[Any, Any] = {aten.fused_moving_avg_obs_fake_quant.default: _moving_average}


def _as_it_was(x: Tensor, *_: Any, **__: Any) -> Tensor:
    return torch.empty_like(x)


# Shapes that torch has no function for where sizes are symbols.
ROUNDING: dict[Any, Any] = dict.fromkeys(
    (
        aten.fake_quantize_per_tensor_affine.default,
        aten.fake_quantize_per_tensor_affine.tensor_qparams,
        aten.fake_quantize_per_channel_affine.default,
        aten._fake_quantize_learnable_per_tensor_affine.default,
        aten._fake_quantize_learnable_per_channel_affine.default,
    ),
    _as_it_was,
)
