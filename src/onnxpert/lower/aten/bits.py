"""The bits of numbers, by arithmetic: what a tensor is when its memory is read as another dtype."""

from __future__ import annotations

import math
from dataclasses import dataclass

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten
_WIDE, _WORD = torch.float64, torch.int64
_BITCAST = 26  # the opset from which on ONNX can read the bits itself


@dataclass(frozen=True, slots=True)
class _Layout:
    """How the bits of a float are shared out, beside that of its sign."""

    fraction: int
    exponent: int

    @property
    def bias(self) -> int:
        return 2 ** (self.exponent - 1) - 1

    @property
    def lowest(self) -> int:
        """The exponent of the smallest number there is."""
        return 1 - self.bias - self.fraction


_LAYOUTS = {
    torch.float16: _Layout(10, 5),
    torch.bfloat16: _Layout(7, 8),
    torch.float32: _Layout(23, 8),
    torch.float64: _Layout(52, 11),
}


def _width(dtype: torch.dtype) -> int:
    return 8 * dtype.itemsize


def _sign(width: int) -> int:
    """The bit of the sign alone, as an int64."""
    return -(2**63) if width == 64 else 2 ** (width - 1)


def _power(op: Emitter, exponent: ir.Value) -> ir.Value:
    return op.Pow(op.const(2.0, _WIDE), exponent)


def _scaled(op: Emitter, x: ir.Value, exponent: int) -> ir.Value:
    """X times a power of two; in two steps, since the power alone may be beyond any float."""
    half = exponent // 2
    return op.Mul(op.Mul(x, 2.0**half), 2.0 ** (exponent - half))


def pattern(op: Emitter, x: ir.Value) -> ir.Value:
    """The bits of each element as an int64, without sign unless all 64 are taken."""
    dtype = op.dtype(x)
    layout = _LAYOUTS.get(dtype)
    if layout is not None:
        return _of_float(op, op.cast(x, _WIDE), layout, _width(dtype))
    if dtype not in TO_ONNX or dtype.is_floating_point or dtype.is_complex:
        raise Refusal(f"the bits of {dtype} cannot be read in ONNX")
    word = op.cast(x, _WORD)
    narrow = dtype.is_signed and _width(dtype) < 64
    return op.Mod(word, 2 ** _width(dtype)) if narrow else word


def _of_float(op: Emitter, wide: ir.Value, layout: _Layout, width: int) -> ir.Value:
    size = op.Abs(wide)
    normal = op.And(op.GreaterOrEqual(size, 2.0 ** (1 - layout.bias)), op.Less(size, math.inf))
    # Where it is not normal, a one is taken apart, and thrown away.
    one = op.Where(normal, size, op.const(1.0, _WIDE))
    exponent = op.Floor(op.Mul(op.Log(one), 1 / math.log(2)))
    exponent = op.Min(op.Max(exponent, float(1 - layout.bias)), float(layout.bias))
    rest = op.Div(one, _power(op, exponent))
    # The logarithm may be off by its last digit, which matters at the powers of two.
    over, under = op.GreaterOrEqual(rest, 2.0), op.Less(rest, 1.0)
    exponent = op.Sub(op.Add(exponent, op.cast(over, _WIDE)), op.cast(under, _WIDE))
    rest = op.Div(one, _power(op, exponent))
    step = 2**layout.fraction
    high = op.Mul(op.cast(op.Add(exponent, float(layout.bias)), _WORD), step)
    bits = op.Add(high, op.cast(op.Mul(op.Sub(rest, 1.0), float(step)), _WORD))
    tiny = op.Where(normal, op.const(0.0, _WIDE), size)
    tiny = op.Where(op.Less(tiny, 1.0), tiny, op.const(0.0, _WIDE))
    bits = op.Where(normal, bits, op.cast(_scaled(op, tiny, -layout.lowest), _WORD))
    infinite = (2**layout.exponent - 1) * step
    bits = op.Where(op.Equal(size, math.inf), infinite, bits)
    bits = op.Where(op.IsNaN(wide), infinite + step // 2, bits)
    # Zero has a sign too, which its reciprocal shows.
    negative = op.Or(op.Less(wide, 0.0), op.Less(op.Reciprocal(wide), 0.0))
    return op.Where(negative, op.Add(bits, _sign(width)), bits)


def number(op: Emitter, bits: ir.Value, dtype: torch.dtype) -> ir.Value:
    """The elements whose bits these are."""
    layout, width = _LAYOUTS.get(dtype), _width(dtype)
    if layout is not None:
        return op.cast(_as_float(op, bits, layout, width), dtype)
    if dtype is torch.bool:
        return op.Not(op.Equal(bits, 0))
    if dtype not in TO_ONNX or dtype.is_floating_point or dtype.is_complex:
        raise Refusal(f"bits cannot be read as {dtype} in ONNX")
    if dtype.is_signed and width < 64:
        high = op.GreaterOrEqual(bits, 2 ** (width - 1))
        bits = op.Where(high, op.Sub(bits, 2**width), bits)
    return op.cast(bits, dtype)


def _as_float(op: Emitter, bits: ir.Value, layout: _Layout, width: int) -> ir.Value:
    negative = op.Less(bits, 0) if width == 64 else op.GreaterOrEqual(bits, 2 ** (width - 1))
    bits = op.Where(negative, op.Sub(bits, _sign(width)), bits)
    fraction = op.Mod(bits, 2**layout.fraction)
    exponent = op.Div(bits, 2**layout.fraction)
    part = op.cast(fraction, _WIDE)
    shift = op.cast(op.Sub(exponent, layout.bias), _WIDE)
    most = float(layout.bias)
    rest = op.Add(op.Mul(part, 2.0**-layout.fraction), 1.0)
    normal = op.Mul(rest, _power(op, op.Min(op.Max(shift, 1.0 - most), most)))
    size = op.Where(op.Equal(exponent, 0), _scaled(op, part, layout.lowest), normal)
    special = op.Where(op.Equal(fraction, 0), op.const(math.inf, _WIDE), math.nan)
    size = op.Where(op.Equal(exponent, 2**layout.exponent - 1), special, size)
    # Not by Where, in which ONNX Runtime loses the sign of a zero.
    return op.Mul(size, op.Sub(1.0, op.Mul(op.cast(negative, _WIDE), 2.0)))


# ---- other widths --------------------------------------------------------------------------


def _halved(op: Emitter, bits: ir.Value, low: int) -> tuple[ir.Value, ir.Value]:
    """What is above the lowest so many bits, and those: the former keeps the sign."""
    rest = op.Mod(bits, 2**low)
    return op.Div(op.Sub(bits, rest), 2**low), rest


def _parted(op: Emitter, bits: ir.Value, pieces: int, width: int) -> ir.Value:
    """Each pattern as several narrower ones, the lowest first, along the last dimension."""
    parts = []
    for _ in range(pieces - 1):
        bits, low = _halved(op, bits, width)
        parts.append(op.unsqueeze(low, op.rank(low)))
    last = op.Mod(bits, 2**width)
    parts.append(op.unsqueeze(last, op.rank(last)))
    *sizes, size = op.shape(bits)
    return op.reshape(op.Concat(*parts, axis=-1), (*sizes, size * pieces))


def _joined(op: Emitter, bits: ir.Value, pieces: int, width: int) -> ir.Value:
    """So many neighbours of the last dimension as one wider pattern; it wraps into the sign."""
    *sizes, size = op.shape(bits)
    apart = op.reshape(bits, (*sizes, size // pieces, pieces))
    total = None
    for place in range(pieces):
        piece = op.Gather(apart, place, axis=op.rank(apart) - 1)
        piece = op.Mul(piece, 2 ** (width * place)) if place else piece
        total = piece if total is None else op.Add(total, piece)
    assert total is not None
    return total


@lowering(aten.view.dtype, aten.view_copy.dtype)
def view_dtype(op: Emitter, x: ir.Value, dtype: torch.dtype) -> ir.Value:
    """The same memory read as another dtype."""
    before, after = op.dtype(x), dtype
    if before == after:
        return x
    if (
        op.opset >= _BITCAST
        and before.itemsize == after.itemsize
        and torch.bool not in (before, after)
    ):
        return op.BitCast(x, to=TO_ONNX[after])
    bits = pattern(op, x)
    if before.itemsize > after.itemsize:
        bits = _parted(op, bits, before.itemsize // after.itemsize, _width(after))
    elif before.itemsize < after.itemsize:
        bits = _joined(op, bits, after.itemsize // before.itemsize, _width(before))
    return number(op, bits, after)


# ---- checksums -----------------------------------------------------------------------------


@lowering("aten::hash_tensor")  # torch 2.13 has it not
def hash_tensor(
    op: Emitter, x: ir.Value, dim: list[int] | None = None, *, keepdim: bool = False, mode: int = 0
) -> ir.Value:
    """The exclusive or of all patterns, as float64 or int64: of each bit, whether its sum is odd."""
    floats = op.dtype(x).is_floating_point
    bits = pattern(op, op.cast(x, _WIDE if floats else _WORD))
    rank = op.rank(bits)
    axes = [axis % rank for axis in dim] if dim and rank else list(range(rank))
    # By halves: ONNX Runtime sums integers in float64, which has no room for more.
    high, low = (_odd(op, half, axes, keepdim) for half in _halved(op, bits, 32))
    return op.cast(op.Add(op.Mul(high, 2**32), low), torch.uint64)


def _odd(op: Emitter, bits: ir.Value, axes: list[int], keepdim: bool) -> ir.Value:
    """The lowest 32 bits, each of which is set where it is in an odd number of patterns."""
    powers = op.const([2**place for place in range(32)], _WORD)
    wide = op.unsqueeze(op.Mod(bits, 2**32), op.rank(bits))
    planes = op.Mod(op.Div(wide, powers), 2)
    if axes:
        planes = op.Mod(op.reduce("ReduceSum", planes, axes, keepdim), 2)
    return op.reduce("ReduceSum", op.Mul(planes, powers), [op.rank(planes) - 1], False)
