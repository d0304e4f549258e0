"""Interpolation that picks the nearest element: the very one torch picks, rounding and all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower.aten.resampling import Target, by_factors_alike, resize, single, target
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten

_KERNELS = {torch.float32, torch.float16, torch.int32, torch.int8, torch.uint8}
_TRIED = 4096
_Places = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True)
class Way:
    """How torch picks along one axis."""

    size: Size
    wanted: Size
    factor: float | None
    exact: bool
    planar: bool  # in two dimensions torch copies and doubles without asking for the factor

    @property
    def static(self) -> bool:
        return isinstance(self.size, int) and isinstance(self.wanted, int)

    def places(self) -> _Places:
        """Which element torch reads for each new one; it counts in float32."""
        if self.planar and self.wanted in {self.size, 2 * self.size}:
            return np.arange(self.wanted) // (self.wanted // self.size)
        step = np.float32(1.0 / self.factor) if self.factor else _ratio(self.size, self.wanted)
        place = np.arange(self.wanted, dtype=np.float32) + np.float32(0.5 if self.exact else 0)
        return np.minimum(np.floor(place * step), self.size - 1).astype(np.int64)

    def by_resize(self) -> bool:
        """Whether ONNX Runtime, going by floor(place / scale), reads the same ones."""
        way = self
        if not self.static:
            if not self.factor or self.factor != int(self.factor):
                return False
            if not by_factors_alike(self.size, self.factor, self.wanted):
                return False
            way = replace(self, size=_TRIED, wanted=_TRIED * int(self.factor))
        if way.size == way.wanted:  # a copy, whatever the factor
            return way.factor in {None, 1.0}
        scale = single(way.factor) if way.factor else _ratio(way.wanted, way.size)
        place = np.floor(np.arange(way.wanted, dtype=np.float32) / scale)
        return np.array_equal(way.places(), np.clip(place, 0, way.size - 1))


def _ratio(a: int, b: int) -> np.float32:
    return np.float32(a) / np.float32(b)


def _picked(op: Emitter, x: ir.Value, axis: int, way: Way) -> ir.Value:
    if way.static:
        places = way.places()
        if way.wanted == way.size and np.array_equal(places, np.arange(way.size)):
            return x
        return op.Gather(x, op.const(places), axis=axis)
    length, wanted = op.scalar(way.size, torch.float32), op.scalar(way.wanted, torch.float32)
    step = op.const(1.0 / way.factor, torch.float32) if way.factor else op.Div(length, wanted)
    if way.planar and way.factor:
        step = op.Where(op.Equal(wanted, op.Mul(length, 2.0)), 0.5, step)
        step = op.Where(op.Equal(wanted, length), 1.0, step)
    first, one = op.const(0, torch.int64), op.const(1, torch.int64)
    place = op.Range(first, op.scalar(way.wanted, torch.int64), one)
    spot = op.cast(op.describe(place, (way.wanted,)), torch.float32)
    if way.exact:
        spot = op.Add(spot, 0.5)
    reached = op.Min(op.Floor(op.Mul(spot, step)), op.Sub(length, 1.0))
    return op.Gather(x, op.cast(reached, torch.int64), axis=axis)


def _nearest(op: Emitter, x: ir.Value, goal: Target, exact: bool) -> ir.Value:
    axes = len(goal.sizes)
    factors = goal.factors or (None,) * axes
    ways = [
        Way(size, wanted, factor, exact, planar=axes == 2 and not exact)
        for size, wanted, factor in zip(op.shape(x)[-axes:], goal.sizes, factors, strict=True)
    ]
    if op.dtype(x) in _KERNELS and all(way.by_resize() for way in ways):
        alike = (way.factor and by_factors_alike(way.size, way.factor, way.wanted) for way in ways)
        return resize(
            op,
            x,
            goal,
            by_factors=all(alike),
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
    for index in reversed(range(axes)):
        x = _picked(op, x, op.rank(x) - axes + index, ways[index])
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
