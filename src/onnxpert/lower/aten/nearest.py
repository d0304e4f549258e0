"""Interpolation that picks the nearest element: the very one torch picks, rounding and all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower.aten.resampling import Target, by_factors_alike, resize, target
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten

_KERNELS = {torch.float32, torch.float16, torch.int32, torch.int8, torch.uint8}
_TRIED = 4096
_Places = np.ndarray[Any, np.dtype[np.float32]]


def _torch_places(size: int, wanted: int, factor: float | None, exact: bool) -> _Places:
    """Which element torch reads for each new one; it counts in float32."""
    step = np.float32(1.0 / factor) if factor else np.float32(size) / np.float32(wanted)
    place = np.arange(wanted, dtype=np.float32) + np.float32(0.5 if exact else 0)
    return np.minimum(np.floor(place * step), np.float32(size - 1))


def _onnx_places(size: int, wanted: int, scale: Any) -> _Places:
    """Which one ONNX Runtime reads, going by floor(place / scale)."""
    place = np.arange(wanted, dtype=np.float32) / np.float32(scale)
    return np.clip(np.floor(place), 0, size - 1).astype(np.float32)


def _alike(size: Size, wanted: Size, factor: float | None, exact: bool) -> bool:
    """Whether Resize reads the same elements along this axis."""
    if not isinstance(size, int) or not isinstance(wanted, int):
        if not factor or factor != int(factor) or not by_factors_alike(size, factor, wanted):
            return False
        size, wanted = _TRIED, _TRIED * int(factor)
    if exact and wanted % size:
        return False  # ties: too close to call
    ratio = factor if factor else np.float32(wanted) / np.float32(size)
    plain = _onnx_places(size, wanted, ratio)
    return np.array_equal(_torch_places(size, wanted, factor, exact), plain)


def _picked(op: Emitter, x: ir.Value, axis: int, wanted: Size, factor: float | None, exact: bool) -> ir.Value:
    size = op.shape(x)[axis]
    if isinstance(size, int) and isinstance(wanted, int):
        places = _torch_places(size, wanted, factor, exact).astype(np.int64)
        if wanted == size and np.array_equal(places, np.arange(size)):
            return x
        return op.Gather(x, op.const(places), axis=axis)
    length = op.scalar(size, torch.float32)
    step = op.const(1.0 / factor, torch.float32) if factor else op.Div(length, op.scalar(wanted, torch.float32))
    place = op.Range(op.const(0, torch.int64), op.scalar(wanted, torch.int64), op.const(1, torch.int64))
    spot = op.cast(op.describe(place, (wanted,)), torch.float32)
    if exact:
        spot = op.Add(spot, 0.5)
    reached = op.Min(op.Floor(op.Mul(spot, step)), op.Sub(length, 1.0))
    return op.Gather(x, op.cast(reached, torch.int64), axis=axis)


def _nearest(op: Emitter, x: ir.Value, goal: Target, exact: bool) -> ir.Value:
    axes = len(goal.sizes)
    sizes = op.shape(x)[-axes:]
    factors = goal.factors or (None,) * axes
    each = list(zip(sizes, goal.sizes, factors, strict=True))
    if op.dtype(x) in _KERNELS and all(_alike(*one, exact) for one in each):
        return resize(
            op,
            x,
            goal,
            by_factors=goal.factors is not None and all(by_factors_alike(s, f, w) for s, w, f in each if f),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    for index in reversed(range(axes)):
        axis = op.rank(x) - axes + index
        x = _picked(op, x, axis, goal.sizes[index], factors[index], exact)
    return x


def _lowerings(packet: Any, axes: int, exact: bool) -> tuple[Any, Any]:
    @lowering(packet.default)
    def plain(op: Emitter, self: ir.Value, output_size: Any, *factors: float | None) -> ir.Value:
        return _nearest(op, self, target(op, axes, output_size, factors), exact)

    @lowering(packet.vec)
    def vec(
        op: Emitter, input: ir.Value, output_size: Any, scale_factors: Sequence[float] | None
    ) -> ir.Value:
        return _nearest(op, input, target(op, axes, output_size, scale_factors), exact)

    return plain, vec


nearest1d, nearest1d_vec = _lowerings(aten.upsample_nearest1d, 1, exact=False)
nearest2d, nearest2d_vec = _lowerings(aten.upsample_nearest2d, 2, exact=False)
nearest3d, nearest3d_vec = _lowerings(aten.upsample_nearest3d, 3, exact=False)
exact1d, exact1d_vec = _lowerings(aten._upsample_nearest_exact1d, 1, exact=True)
exact2d, exact2d_vec = _lowerings(aten._upsample_nearest_exact2d, 2, exact=True)
exact3d, exact3d_vec = _lowerings(aten._upsample_nearest_exact3d, 3, exact=True)
