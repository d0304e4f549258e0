"""The FFT family: along one axis, two or several, of real and of complex signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.fourier import Scale, axes_from, fitted, to_complex, to_real
from onnxpert.lower.complex_pairs import Parts, halves, pair
from onnxpert.lower.dtypes import python_kind
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import Lowering, lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten
prims = torch.ops.prims
Sizes = Sequence[Size] | None


def _scale(norm: str | None, forward: bool) -> Scale:
    if norm == "ortho":
        return Scale.ROOT
    return Scale.WHOLE if (norm == "forward") == forward else Scale.NONE


def _floats(op: Emitter, x: ir.Value) -> Parts:
    """The parts in floating point: whole numbers become it, as everywhere in torch.fft."""
    own = op.dtype(x)
    return halves(op, x, own if own.is_floating_point else python_kind(1.0))


def _resized(op: Emitter, x: Parts, axis: int, size: Size | None) -> Parts:
    if size is None:
        return x
    re, im = (None if part is None else fitted(op, part, axis, size) for part in x)
    assert re is not None
    return re, im


def _axes(op: Emitter, x: ir.Value, s: Sizes, dim: Sequence[int] | None) -> list[int]:
    """As torch.fft does: sizes without axes are those of the last ones."""
    rank = op.rank(x)
    if dim is None and s is not None:
        return list(range(rank - len(s), rank))
    return axes_from(dim, rank)


def _wanted(s: Sizes, axes: Sequence[int]) -> list[Size | None]:
    if s is None:
        return [None] * len(axes)
    return [None if isinstance(size, int) and size == -1 else size for size in s]


# ---- the three kinds, over several axes --------------------------------------------------------


def _complex_to_complex(
    op: Emitter, x: Parts, axes: Sequence[int], sizes: Sequence[Any], forward: bool, scale: Scale
) -> Parts:
    for axis, size in zip(axes, sizes, strict=True):
        x = _resized(op, x, axis, size)
    for axis in reversed(axes):
        x = to_complex(op, x, axis, forward=forward, scale=scale)
    return x


def _real_to_complex(
    op: Emitter,
    x: ir.Value,
    axes: Sequence[int],
    sizes: Sequence[Any],
    forward: bool,
    scale: Scale,
) -> Parts:
    data = _floats(op, x)
    if data[1] is not None:
        raise Refusal("it expects a real tensor")
    for axis, size in zip(axes, sizes, strict=True):
        data = _resized(op, data, axis, size)
    # Forward either way: the other direction is the conjugate, which is cheaper.
    re, im = to_complex(op, data, axes[-1], forward=True, scale=scale, half=True)
    if not forward and im is not None:
        im = op.Neg(im)
    for axis in reversed(axes[:-1]):
        re, im = to_complex(op, (re, im), axis, forward=forward, scale=scale)
    return re, im


def _complex_to_real(
    op: Emitter, x: ir.Value, axes: Sequence[int], sizes: Sequence[Any], norm: Any, forward: bool
) -> ir.Value:
    scale = norm if isinstance(norm, Scale) else _scale(norm, forward)
    last = sizes[-1]
    data = _floats(op, x)
    if last is None:
        last = 2 * (op.shape(data[0])[axes[-1]] - 1)
    data = _complex_to_complex(op, data, axes[:-1], sizes[:-1], forward, scale)
    return to_real(op, data, axes[-1], last, forward=forward, scale=scale)


# ---- torch.fft ---------------------------------------------------------------------------------


def _single(name: str, forward: bool, kind: str) -> Lowering:
    overload = getattr(aten, f"fft_{name}").default

    @lowering(overload, complex=True)
    def transform(
        op: Emitter, x: ir.Value, n: Size | None = None, dim: int = -1, norm: str | None = None
    ) -> ir.Value:
        return _KINDS[kind](op, x, [dim % op.rank(x)], [n], norm, forward)

    return transform


def _several(name: str, forward: bool, kind: str) -> Lowering:
    overload = getattr(aten, f"fft_{name}").default
    default = (-2, -1) if name.endswith("2") else None

    @lowering(overload, complex=True)
    def transform(
        op: Emitter,
        x: ir.Value,
        s: Sizes = None,
        dim: Sequence[int] | None = default,
        norm: str | None = None,
    ) -> ir.Value:
        axes = _axes(op, x, s, dim)
        return _KINDS[kind](op, x, axes, _wanted(s, axes), norm, forward)

    return transform


def _c2c(
    op: Emitter, x: ir.Value, axes: Sequence[int], sizes: Sequence[Any], norm: Any, forward: bool
) -> ir.Value:
    scale = _scale(norm, forward)
    return pair(op, *_complex_to_complex(op, _floats(op, x), axes, sizes, forward, scale))


def _r2c(
    op: Emitter, x: ir.Value, axes: Sequence[int], sizes: Sequence[Any], norm: Any, forward: bool
) -> ir.Value:
    return pair(op, *_real_to_complex(op, x, axes, sizes, forward, _scale(norm, forward)))


_KINDS: dict[str, Callable[..., ir.Value]] = {"c2c": _c2c, "r2c": _r2c, "c2r": _complex_to_real}

fft = _single("fft", True, "c2c")
ifft = _single("ifft", False, "c2c")
rfft = _single("rfft", True, "r2c")
irfft = _single("irfft", False, "c2r")
hfft = _single("hfft", True, "c2r")
ihfft = _single("ihfft", False, "r2c")
fft2 = _several("fft2", True, "c2c")
ifft2 = _several("ifft2", False, "c2c")
rfft2 = _several("rfft2", True, "r2c")
irfft2 = _several("irfft2", False, "c2r")
hfft2 = _several("hfft2", True, "c2r")
ihfft2 = _several("ihfft2", False, "r2c")
fftn = _several("fftn", True, "c2c")
ifftn = _several("ifftn", False, "c2c")
rfftn = _several("rfftn", True, "r2c")
irfftn = _several("irfftn", False, "c2r")
hfftn = _several("hfftn", True, "c2r")
ihfftn = _several("ihfftn", False, "r2c")


# ---- what torch takes these apart into ---------------------------------------------------------


@lowering(prims.fft_c2c.default, complex=True)
def prims_c2c(op: Emitter, x: ir.Value, dim: Sequence[int], forward: bool) -> ir.Value:
    return fft_c2c(op, x, dim, Scale.NONE, forward)


@lowering(prims.fft_r2c.default, complex=True)
def prims_r2c(op: Emitter, x: ir.Value, dim: Sequence[int], onesided: bool) -> ir.Value:
    return fft_r2c(op, x, dim, Scale.NONE, onesided)


@lowering(prims.fft_c2r.default, complex=True)
def prims_c2r(op: Emitter, x: ir.Value, dim: Sequence[int], last_dim_size: Size) -> ir.Value:
    return fft_c2r(op, x, dim, Scale.NONE, last_dim_size)


@lowering(aten._fft_c2c.default, complex=True)
def fft_c2c(
    op: Emitter, x: ir.Value, dim: Sequence[int], normalization: int, forward: bool
) -> ir.Value:
    axes = axes_from(dim, op.rank(x))
    data, sizes = _floats(op, x), [None] * len(axes)
    return pair(op, *_complex_to_complex(op, data, axes, sizes, forward, Scale(normalization)))


@lowering(aten._fft_r2c.default, complex=True)
def fft_r2c(
    op: Emitter, x: ir.Value, dim: Sequence[int], normalization: int, onesided: bool
) -> ir.Value:
    if not onesided:
        return fft_c2c(op, x, dim, normalization, True)
    axes = axes_from(dim, op.rank(x))
    sizes = [None] * len(axes)
    return pair(op, *_real_to_complex(op, x, axes, sizes, True, Scale(normalization)))


@lowering(aten._fft_c2r.default, complex=True)
def fft_c2r(
    op: Emitter, x: ir.Value, dim: Sequence[int], normalization: int, last_dim_size: Size
) -> ir.Value:
    axes = axes_from(dim, op.rank(x))
    sizes = [*[None] * (len(axes) - 1), last_dim_size]
    return _complex_to_real(op, x, axes, sizes, Scale(normalization), False)
