"""Tapering windows: their lengths are plain numbers, so torch itself makes them, as constants."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import Lowering, lowering

aten = torch.ops.aten


def _window(overload: Any) -> Lowering:
    @lowering(overload)
    def window(op: Emitter, *args: Any, dtype: torch.dtype | None = None) -> ir.Value:
        return op.const(overload(*args, dtype=dtype))

    return window


hann = _window(aten.hann_window.default)
hann_periodic = _window(aten.hann_window.periodic)
hamming = _window(aten.hamming_window.default)
hamming_periodic = _window(aten.hamming_window.periodic)
hamming_alpha = _window(aten.hamming_window.periodic_alpha)
hamming_alpha_beta = _window(aten.hamming_window.periodic_alpha_beta)
blackman = _window(aten.blackman_window.default)
blackman_periodic = _window(aten.blackman_window.periodic)
bartlett = _window(aten.bartlett_window.default)
bartlett_periodic = _window(aten.bartlett_window.periodic)
kaiser = _window(aten.kaiser_window.default)
kaiser_periodic = _window(aten.kaiser_window.periodic)
kaiser_beta = _window(aten.kaiser_window.beta)
