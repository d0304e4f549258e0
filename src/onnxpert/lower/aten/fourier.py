"""Discrete Fourier transforms along one axis: products with matrices, or ONNX's DFT.

ONNX Runtime (1.31) computes DFT well for powers of two only: of other lengths it is slow, and has four
digits left at a length of a thousand in float32. A product with the matrix of cosines and sines, or
with those of the factors of the length, was about two to twenty times faster at the lengths tried
(128 to 4096, on one core), with errors below 1e-6 of the largest value. DFT, in float64, is for
lengths that are not known and for large primes. It has no inverse to real numbers: that is made from
the whole spectrum."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Any

import numpy as np
import onnx_ir as ir
import sympy
import torch

from onnxpert.lower.complex_pairs import Parts, zeros
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.symbols import Size, concrete, is_static, same

Matrix = np.ndarray[Any, Any]
_SHORT = 128  # up to here one matrix is faster than those of the factors
_LARGEST_PRIME = 512  # a matrix of a megabyte


class Scale(IntEnum):
    """How torch numbers the factor of a transform of n elements."""

    NONE = 0
    ROOT = 1  # by the root of n
    WHOLE = 2  # by n


def to_complex(
    op: Emitter, x: Parts, axis: int, *, forward: bool, scale: Scale, half: bool = False
) -> Parts:
    """The spectrum along an axis (counted from the front); `half` leaves out what mirrors it."""
    size = op.shape(x[0])[axis]
    if not _by_matrix(size):
        return _long(op, x, axis, forward, scale, half)
    matrix = spectrum_matrix(size, forward, scale, half)
    count = matrix.shape[1] // 2
    data = x[0]
    if x[1] is not None:
        cosine, sine = matrix[:, :count], matrix[:, count:]
        matrix = np.concatenate([matrix, np.concatenate([-sine, cosine], 1)], 0)
        data = op.Concat(x[0], x[1], axis=axis)
    re, im = op.split(_multiplied(op, data, matrix, axis), [count, count], axis)
    return re, im


def to_real(
    op: Emitter, x: Parts, axis: int, size: Size, *, forward: bool, scale: Scale
) -> ir.Value:
    """The real signal of `size` elements whose spectrum is given up to its middle."""
    size = concrete(size)
    re, im = x[0], zeros(op, x[0]) if x[1] is None else x[1]
    count = size // 2 + 1
    re, im = fitted(op, re, axis, count), fitted(op, im, axis, count)
    if not _by_matrix(size):
        return _long(op, _mirrored(op, re, im, axis, size), axis, forward, scale, False)[0]
    matrix = real_matrix(size, forward, scale)
    return _multiplied(op, op.Concat(re, im, axis=axis), matrix, axis)


def fitted(op: Emitter, x: ir.Value, axis: int, size: Size) -> ir.Value:
    """Cut off, or lengthened by zeros, to `size` elements along an axis."""
    shape, size = op.shape(x), concrete(size)
    if same(shape[axis], size):
        return x
    if is_static(shape[axis], size) and shape[axis] > size:
        kept = op.Slice(x, [0], [size], [axis])
        return op.describe(kept, (*shape[:axis], size, *shape[axis + 1 :]))
    pads: list[Any] = [0] * (2 * len(shape))
    pads[len(shape) + axis] = _missing(op, x, axis, size)  # a negative number cuts off
    padded = op.Pad(x, op.ints(pads))
    return op.describe(padded, (*shape[:axis], size, *shape[axis + 1 :]))


def _missing(op: Emitter, x: ir.Value, axis: int, size: Size) -> Any:
    """How many elements there are too few, by what `x` has when it is there: a slice of a weight,
    `k[:, :n]`, is shorter than its size says once n is beyond the weight."""
    have = op.shape(x)[axis]
    if is_static(have):
        return size - have
    if op.opset >= 15:
        found = op.Shape(x, start=axis, end=axis + 1)
    else:
        found = op.Gather(op.Shape(x), op.const([axis], torch.int64), axis=0)
    return op.Sub(op.ints([size]), found)


# ---- by a matrix -------------------------------------------------------------------------------


def spectrum_matrix(size: int, forward: bool, scale: Scale, half: bool) -> Matrix:
    """From real elements to the real parts, then the imaginary parts, of their spectrum."""
    cosine, sine = _waves(size, forward, scale)
    count = size // 2 + 1 if half else size
    return np.concatenate([cosine[:, :count], sine[:, :count]], 1)


def real_matrix(size: int, forward: bool, scale: Scale) -> Matrix:
    """From the real parts, then the imaginary parts, of half a spectrum to its real signal."""
    cosine, sine = _waves(size, forward, scale)
    count = size // 2 + 1
    weights = np.full((count, 1), 2.0)  # each stands for its mirror image too
    weights[0] = 1.0
    if size % 2 == 0:
        weights[-1] = 1.0
    return np.concatenate([cosine[:count] * weights, -sine[:count] * weights], 0)


def _by_matrix(size: Size) -> bool:
    if not is_static(size):
        return False
    return size <= _SHORT or (size <= _LARGEST_PRIME and _factors(size) is None)


@functools.lru_cache(64)
def _waves(size: int, forward: bool, scale: Scale) -> tuple[Matrix, Matrix]:
    """Cosines and sines, one row per element in, one column per element out."""
    turns = np.outer(np.arange(size), np.arange(size)) % max(size, 1)
    angles = turns * (2 * np.pi / max(size, 1))
    factor = {Scale.NONE: 1.0, Scale.ROOT: size**-0.5, Scale.WHOLE: 1 / size}[scale]
    sines = np.where(2 * turns == size, 0.0, np.sin(angles))
    return np.cos(angles) * factor, sines * (-factor if forward else factor)


def _multiplied(op: Emitter, x: ir.Value, matrix: Matrix, axis: int) -> ir.Value:
    shape = op.shape(x)
    rank = len(shape)
    if 0 in [size for size in shape if is_static(size)]:
        # ONNX Runtime does not broadcast a matrix on the left against an empty batch.
        sizes = (*shape[:axis], matrix.shape[1], *shape[axis + 1 :])
        return op.expand(op.const(0, op.dtype(x)), sizes)
    if axis == rank - 1:
        return op.MatMul(x, op.const(torch.from_numpy(matrix), op.dtype(x)))
    if axis == rank - 2:
        turned = torch.from_numpy(np.ascontiguousarray(matrix.T))
        return op.MatMul(op.const(turned, op.dtype(x)), x)
    order = [*(a for a in range(rank) if a != axis), axis]
    back = [order.index(a) for a in range(rank)]
    product = _multiplied(op, op.Transpose(x, perm=order), matrix, rank - 1)
    return op.Transpose(product, perm=back)


# ---- in two steps ------------------------------------------------------------------------------


def _long(op: Emitter, x: Parts, axis: int, forward: bool, scale: Scale, half: bool) -> Parts:
    factors = _factors(op.shape(x[0])[axis])
    if factors is None:
        return _dft(op, x, axis, forward, scale, half)
    return _in_two_steps(op, x, axis, factors, forward, scale, half)


def _factors(size: Size) -> tuple[int, int] | None:
    """The two factors nearest to each other, if all primes in them are small enough."""
    if not is_static(size) or max(sympy.primefactors(size), default=1) > _LARGEST_PRIME:
        return None
    first = next(f for f in range(math.isqrt(size), 0, -1) if size % f == 0)
    return (first, size // first) if first > 1 else None


def _in_two_steps(
    op: Emitter,
    x: Parts,
    axis: int,
    factors: tuple[int, int],
    forward: bool,
    scale: Scale,
    half: bool,
) -> Parts:
    """A transform of p * q elements as q of p elements, a turn of each, and p of q elements."""
    p, q = factors
    shape = op.shape(x[0])
    rank = len(shape)
    order = [*(a for a in range(rank) if a != axis), axis]
    back = [order.index(a) for a in range(rank)]
    outer = [shape[a] for a in order[:-1]]
    moved = [None if part is None else op.Transpose(part, perm=order) for part in x]
    re, im = (None if part is None else op.reshape(part, (*outer, p, q)) for part in moved)
    assert re is not None
    re, im = to_complex(op, (re, im), rank - 1, forward=forward, scale=scale)
    assert im is not None
    angles = np.outer(np.arange(p), np.arange(q)) * (2 * np.pi / (p * q))
    dtype = op.dtype(re)
    cosine = op.const(torch.from_numpy(np.cos(angles)), dtype)
    sine = op.const(torch.from_numpy(np.sin(angles) * (-1 if forward else 1)), dtype)
    turned = (
        op.Sub(op.Mul(re, cosine), op.Mul(im, sine)),
        op.Add(op.Mul(re, sine), op.Mul(im, cosine)),
    )
    spectrum = to_complex(op, turned, rank, forward=forward, scale=scale)
    flip = [*range(rank - 1), rank, rank - 1]
    results = []
    for part in spectrum:
        assert part is not None
        flat = op.reshape(op.Transpose(part, perm=flip), (*outer, p * q))
        whole = op.Transpose(flat, perm=back)
        results.append(fitted(op, whole, axis, p * q // 2 + 1) if half else whole)
    return results[0], results[1]


# ---- by DFT ------------------------------------------------------------------------------------


def _dft(op: Emitter, x: Parts, axis: int, forward: bool, scale: Scale, half: bool) -> Parts:
    if op.opset < 17:
        return _written_out(op, x, axis, forward, scale, half)
    own = op.dtype(x[0])
    size = op.shape(x[0])[axis]
    # Lengths that are no powers of two lose digits on the way.
    exact = is_static(size) and size & (size - 1) == 0
    wide = torch.float32 if exact and own is not torch.float64 else torch.float64
    last = op.rank(x[0])
    pieces = [op.unsqueeze(op.cast(part, wide), last) for part in x if part is not None]
    data = pieces[0] if len(pieces) == 1 else op.Concat(*pieces, axis=last)
    flags = {"inverse": int(not forward), "onesided": int(half and forward and len(pieces) == 1)}
    if op.opset >= 20:
        result = op.DFT(data, None, op.const(axis, torch.int64), **flags)
    else:
        result = op.DFT(data, axis=axis, **flags)
    count = size // 2 + 1 if half else size
    shape = op.shape(x[0])
    sizes = (*shape[:axis], count, *shape[axis + 1 :])
    if half and not flags["onesided"]:
        result = op.Slice(result, [0], op.ints([count]), [axis])
    op.describe(result, (*sizes, 2), wide)
    re, im = (op.Gather(result, op.const(which, torch.int64), axis=last) for which in (0, 1))
    return _scaled(op, (op.cast(re, own), op.cast(im, own)), size, forward, scale)


def _scaled(op: Emitter, x: Parts, size: Size, forward: bool, scale: Scale) -> Parts:
    """DFT divides the inverse by the length, and the forward transform by nothing."""
    done = Scale.NONE if forward else Scale.WHOLE
    if scale is done:
        return x
    dtype = op.dtype(x[0])
    length = op.scalar(size, dtype)
    factor = op.Sqrt(length) if Scale.ROOT in (scale, done) else length
    name = "Div" if forward else "Mul"
    re, im = (None if part is None else op.emit(name, part, factor) for part in x)
    assert re is not None
    return re, im


def _mirrored(op: Emitter, re: ir.Value, im: ir.Value, axis: int, size: Size) -> Parts:
    """The whole spectrum of a real signal: its second half is the conjugate of the first."""
    shape = op.shape(re)
    sizes = (*shape[:axis], size, *shape[axis + 1 :])
    rest = size - (size // 2 + 1)
    tails = [op.Slice(part, op.ints([rest]), [0], [axis], [-1]) for part in (re, im)]
    for tail in tails:
        op.describe(tail, (*shape[:axis], rest, *shape[axis + 1 :]))
    whole = op.Concat(re, tails[0], axis=axis), op.Concat(im, op.Neg(tails[1]), axis=axis)
    return op.describe(whole[0], sizes), op.describe(whole[1], sizes)


def _written_out(
    op: Emitter, x: Parts, axis: int, forward: bool, scale: Scale, half: bool
) -> Parts:
    """Before opset 17 there is no DFT: the matrix is computed when the length is known."""
    shape, own = op.shape(x[0]), op.dtype(x[0])
    size = shape[axis]
    length = op.scalar(size, torch.int64)
    places = op.describe(op.Range(op.const(0), length, op.const(1)), (size,))
    turns = op.Mod(op.Mul(op.unsqueeze(places, 1), op.unsqueeze(places, 0)), length)
    double = op.cast(length, torch.float64)
    angles = op.Div(op.Mul(op.cast(turns, torch.float64), 2 * np.pi), double)
    angles = op.describe(angles, (size, size))
    cosine = op.cast(op.Cos(angles), own)
    sine = op.cast(op.Sin(op.Neg(angles) if forward else angles), own)
    order = [*(a for a in range(len(shape)) if a != axis), axis]
    back = [order.index(a) for a in range(len(shape))]
    moved = [None if part is None else op.Transpose(part, perm=order) for part in x]
    re, im = op.MatMul(moved[0], cosine), op.MatMul(moved[0], sine)
    if moved[1] is not None:
        re = op.Sub(re, op.MatMul(moved[1], sine))
        im = op.Add(im, op.MatMul(moved[1], cosine))
    results = [op.Transpose(part, perm=back) for part in (re, im)]
    if half:
        results = [fitted(op, part, axis, size // 2 + 1) for part in results]
    if scale is Scale.NONE:
        return results[0], results[1]
    factor = op.scalar(size, own)
    factor = op.Sqrt(factor) if scale is Scale.ROOT else factor
    return op.Div(results[0], factor), op.Div(results[1], factor)


def axes_from(dims: Sequence[int] | None, rank: int) -> list[int]:
    return list(range(rank)) if dims is None else [dim % rank for dim in dims]
