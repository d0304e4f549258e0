"""Interpolation to another size by lines and cubics: upsample_linear, bilinear, bicubic and kin."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower.aten.byte_images import resized_bytes
from onnxpert.lower.aten.linear import matmul
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import equal
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten

_KERNELS = {torch.float32, torch.float16}
_TRIED = 4096  # sizes up to which two ways of rounding are compared when the size is open


@dataclass(frozen=True, slots=True)
class Target:
    """Where the last axes go: their new sizes, and the factors if the caller gave them."""

    sizes: tuple[Size, ...]
    factors: tuple[float, ...] | None


def target(op: Emitter, axes: int, output_size: Any, factors: Sequence[Any] | None) -> Target:
    given = [factor for factor in factors or () if factor is not None]
    # What was asked for is known before what came of it, which may be a symbol of its own.
    wanted = op.out.shape[-axes:] if op.out is not None and output_size is None else output_size
    return Target(
        tuple(map(concrete, wanted)),
        tuple(map(float, given)) if len(given) == axes else None,
    )


def single(factor: float) -> np.float32:
    """The float32 that is not below: 20 * 0.9 is to stay 18."""
    near = np.float32(factor)
    return near if float(near) >= factor else np.nextafter(near, np.float32(np.inf))


def by_factors_alike(size: Size, factor: float, wanted: Size) -> bool:
    """Whether ONNX, whose factors are float32, comes to the size that torch comes to."""
    sizes = np.array([size]) if isinstance(size, int) else np.arange(1, _TRIED)
    short, long = sizes.astype(np.float32) * single(factor), sizes * float(single(factor))
    theirs = np.array([wanted]) if isinstance(size, int) else np.floor(sizes * factor)
    return np.array_equal(np.floor(short), theirs) and np.array_equal(np.floor(long), theirs)


def resize(
    op: Emitter, x: ir.Value, goal: Target, *, by_factors: bool, **attributes: Any
) -> ir.Value:
    """ONNX's Resize of the last axes, to sizes or by factors."""
    axes, shape = len(goal.sizes), op.shape(x)
    result_shape = (*shape[:-axes], *goal.sizes)
    if by_factors and goal.factors is not None:
        factors = [float(single(factor)) for factor in goal.factors]
        scales = op.const([1.0] * (len(shape) - axes) + factors, torch.float32)
        return op.describe(op.Resize(x, None, scales, **attributes), result_shape)
    if op.opset >= 18:  # only the axes that change: the others need not be read
        own = list(range(len(shape) - axes, len(shape)))
        sizes = op.ints(goal.sizes)
        return op.describe(op.Resize(x, None, None, sizes, axes=own, **attributes), result_shape)
    return op.describe(op.Resize(x, None, None, op.ints(result_shape), **attributes), result_shape)


# ---- the general way -----------------------------------------------------------------------

Kernel = Callable[[torch.Tensor, list[int], bool, float | None], torch.Tensor]


def _by_products(
    op: Emitter, x: ir.Value, goal: Target, align_corners: bool, kernel: Kernel
) -> ir.Value:
    """One matrix per axis, which torch itself fills: what it makes of each unit vector."""
    axes = len(goal.sizes)
    matrices = _matrices(op, x, goal, align_corners, kernel)
    for index in reversed(range(axes)):
        weights = op.const(matrices[index].to(op.dtype(x)))
        x = _along(op, x, op.rank(x) - axes + index, weights)
    return x


def _matrices(
    op: Emitter, x: ir.Value, goal: Target, align_corners: bool, kernel: Kernel
) -> list[torch.Tensor]:
    sizes = op.shape(x)[-len(goal.sizes) :]
    if not all(isinstance(size, int) for size in (*sizes, *goal.sizes)):
        raise Refusal(f"this interpolation in {op.dtype(x)} needs sizes that are fixed")
    factors = goal.factors or (None,) * len(sizes)
    return [
        kernel(torch.eye(size, dtype=torch.float64), [wanted], align_corners, factor)
        for size, wanted, factor in zip(sizes, goal.sizes, factors, strict=True)
    ]


def _along(op: Emitter, x: ir.Value, axis: int, weights: ir.Value) -> ir.Value:
    """The product over one axis; `weights` are (in, out)."""
    rank = op.rank(x)
    order = [*(i for i in range(rank) if i != axis), axis]
    product = matmul(op, op.Transpose(x, perm=order), weights)
    return op.Transpose(product, perm=[order.index(i) for i in range(rank)])


def _line(unit: torch.Tensor, size: list[int], align: bool, factor: float | None) -> torch.Tensor:
    return aten.upsample_linear1d(unit[None], size, align, factor)[0]


def _plane(overload: Any) -> Kernel:
    def kernel(
        unit: torch.Tensor, size: list[int], align: bool, factor: float | None
    ) -> torch.Tensor:
        rows = unit[None, :, None, :]
        return overload(rows, [1, *size], align, None, factor)[0, :, 0]

    return kernel


def _interpolated(
    op: Emitter,
    x: ir.Value,
    goal: Target,
    align_corners: bool,
    kernel: Kernel,
    **attributes: Any,
) -> ir.Value:
    if op.dtype(x) is torch.uint8 and len(goal.sizes) == 2:
        return resized_bytes(op, x, _matrices(op, x, goal, align_corners, kernel))
    if not op.dtype(x).is_floating_point:
        raise Refusal(f"the interpolation of {op.dtype(x)} rounds in torch's own way")
    sizes = op.shape(x)[-len(goal.sizes) :]
    by_factors = goal.factors is not None and not align_corners
    if not by_factors and equal(sizes, goal.sizes):
        return x
    unknown = align_corners and "antialias" in attributes
    if op.dtype(x) not in _KERNELS or unknown or not attributes:
        return _by_products(op, x, goal, align_corners, kernel)
    if by_factors and goal.factors is not None:
        triples = zip(sizes, goal.factors, goal.sizes, strict=True)
        if not all(by_factors_alike(*triple) for triple in triples):
            return _by_products(op, x, goal, align_corners, kernel)
    mode = "align_corners" if align_corners else "half_pixel"
    return resize(
        op, x, goal, by_factors=by_factors, coordinate_transformation_mode=mode, **attributes
    )


# ---- the overloads -------------------------------------------------------------------------


def _lowerings(
    packet: Any, axes: int, kernel: Kernel, since: int = 13, **attributes: Any
) -> tuple[Any, Any]:
    @lowering(packet.default, since=since)
    def plain(
        op: Emitter, self: ir.Value, output_size: Any, align_corners: bool, *factors: float | None
    ) -> ir.Value:
        goal = target(op, axes, output_size, factors)
        return _interpolated(op, self, goal, align_corners, kernel, **attributes)

    @lowering(packet.vec, since=since)
    def vec(
        op: Emitter,
        input: ir.Value,
        output_size: Any,
        align_corners: bool,
        scale_factors: Sequence[float] | None,
    ) -> ir.Value:
        goal = target(op, axes, output_size, scale_factors)
        return _interpolated(op, input, goal, align_corners, kernel, **attributes)

    return plain, vec


linear1d, linear1d_vec = _lowerings(aten.upsample_linear1d, 1, _line, mode="linear")
bilinear2d, bilinear2d_vec = _lowerings(aten.upsample_bilinear2d, 2, _line, mode="linear")
trilinear3d, trilinear3d_vec = _lowerings(aten.upsample_trilinear3d, 3, _line, mode="linear")
bicubic2d, bicubic2d_vec = _lowerings(
    aten.upsample_bicubic2d, 2, _plane(aten.upsample_bicubic2d), mode="cubic", cubic_coeff_a=-0.75
)
# Smoothed, torch takes the cubic of Pillow, and shares out the weights that fall outside.
bilinear2d_aa, bilinear2d_aa_vec = _lowerings(
    aten._upsample_bilinear2d_aa,
    2,
    _plane(aten._upsample_bilinear2d_aa),
    since=18,
    mode="linear",
    antialias=1,
    exclude_outside=1,
)
lanczos2d_aa, lanczos2d_aa_vec = _lowerings(
    aten._upsample_lanczos2d_aa, 2, _plane(aten._upsample_lanczos2d_aa)
)
bicubic2d_aa, bicubic2d_aa_vec = _lowerings(
    aten._upsample_bicubic2d_aa,
    2,
    _plane(aten._upsample_bicubic2d_aa),
    since=18,
    mode="cubic",
    cubic_coeff_a=-0.5,
    antialias=1,
    exclude_outside=1,
)
