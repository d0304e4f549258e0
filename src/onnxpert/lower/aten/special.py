"""The error function and its kin; ONNX has `Erf` alone, and ONNX Runtime that for float32 only.

The rational approximations are those of the Cephes library (S. L. Moshier), good to the last digit
of float64; the rest is computed in float64 so that tails keep their digits."""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.aten.exponential import log1p
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, floating

aten = torch.ops.aten

# Highest power first; a leading 1 is written out.
_SMALL = (
    (9.60497373987051638749e0, 9.00260197203842689217e1, 2.23200534594684319226e3,
     7.00332514112805075473e3, 5.55923013010394962768e4),
    (1.0, 3.35617141647503099647e1, 5.21357949780152679795e2, 4.59432382970980127987e3,
     2.26290000613890934246e4, 4.92673942608635921086e4),
)  # fmt: skip
_MIDDLE = (
    (2.46196981473530512524e-10, 5.64189564831068821977e-1, 7.46321056442269912687e0,
     4.86371970985681366614e1, 1.96520832956077098242e2, 5.26445194995477358631e2,
     9.34528527171957607540e2, 1.02755188689515710272e3, 5.57535335369399327526e2),
    (1.0, 1.32281951154744992508e1, 8.67072140885989742329e1, 3.54937778887819891062e2,
     9.75708501743205489753e2, 1.82390916687909736289e3, 2.24633760818710981792e3,
     1.65666309194161350182e3, 5.57535340817727675546e2),
)  # fmt: skip
_FAR = (
    (5.64189583547755073984e-1, 1.27536670759978104416e0, 5.01905042251180477414e0,
     6.16021097993053585195e0, 7.40974269950448939160e0, 2.97886665372100240670e0),
    (1.0, 2.26052863220117276590e0, 9.39603524938001434673e0, 1.20489539808096656605e1,
     1.70814450747565897222e1, 9.60896809063285878198e0, 3.36907645100081516050e0),
)  # fmt: skip


def polynomial(op: Emitter, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """By Horner's rule, highest power first."""
    first, *rest = coefficients
    value: ir.Value = op.scalar(first, op.dtype(x))
    for coefficient in rest:
        value = op.Add(op.Mul(value, x), coefficient)
    return value


def _ratio(op: Emitter, x: ir.Value, parts: tuple[Sequence[float], Sequence[float]]) -> ir.Value:
    return op.Div(polynomial(op, x, parts[0]), polynomial(op, x, parts[1]))


def _small_erf(op: Emitter, x: ir.Value) -> ir.Value:
    """erf(x) for |x| < 1."""
    return op.Mul(x, _ratio(op, op.Mul(x, x), _SMALL))


def _scaled_tail(op: Emitter, size: ir.Value) -> ir.Value:
    """erfc(x) * exp(x * x) for x >= 1."""
    # Each range gets an argument of its own, for the others' polynomials would overflow.
    middle = _ratio(op, op.Clip(size, 1.0, 8.0), _MIDDLE)
    far = _ratio(op, op.Clip(size, 8.0, 1e50), _FAR)
    return op.Where(op.Less(size, 8.0), middle, far)


def _tail(op: Emitter, size: ir.Value) -> ir.Value:
    """erfc(x) for x >= 1."""
    return op.Mul(op.Exp(op.Neg(op.Mul(size, size))), _scaled_tail(op, size))


def _erf64(op: Emitter, x: ir.Value) -> ir.Value:
    size = op.Abs(x)
    outer = op.Mul(op.Sign(x), op.Sub(1.0, _tail(op, op.Max(size, 1.0))))
    return op.Where(op.Less(size, 1.0), _small_erf(op, op.Clip(x, -1.0, 1.0)), outer)


def _erfc64(op: Emitter, x: ir.Value) -> ir.Value:
    size = op.Abs(x)
    tail = _tail(op, op.Max(size, 1.0))
    outer = op.Where(op.Less(x, 0.0), op.Sub(2.0, tail), tail)
    inner = op.Sub(1.0, _small_erf(op, op.Clip(x, -1.0, 1.0)))
    return op.Where(op.Less(size, 1.0), inner, outer)


@lowering(aten.erf.default, aten.special_erf.default)
def erf(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    return _erf64(op, value) if op.dtype(value) is torch.float64 else call(op, "Erf", value)


@lowering(aten.erfc.default, aten.special_erfc.default)
def erfc(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    return op.cast(_erfc64(op, op.cast(value, torch.float64)), op.dtype(value))


@lowering(aten.special_erfcx.default)
def erfcx(op: Emitter, x: ir.Value) -> ir.Value:
    """exp(x * x) * erfc(x)."""
    (value,) = floating(op, x)
    wide = op.cast(value, torch.float64)
    plain = op.Mul(op.Exp(op.Mul(wide, wide)), _erfc64(op, wide))
    scaled = _scaled_tail(op, op.Max(wide, 1.0))
    return op.cast(op.Where(op.Less(wide, 1.0), plain, scaled), op.dtype(value))


@lowering(aten.special_ndtr.default)
def ndtr(op: Emitter, x: ir.Value) -> ir.Value:
    """The share of a normal distribution below x."""
    (value,) = floating(op, x)
    wide = op.Mul(op.cast(value, torch.float64), -math.sqrt(0.5))
    return op.cast(op.Mul(_erfc64(op, wide), 0.5), op.dtype(value))


@lowering(aten.special_log_ndtr.default)
def log_ndtr(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    t = op.Mul(op.cast(value, torch.float64), math.sqrt(0.5))
    above = log1p(op, op.Mul(_erfc64(op, t), -0.5))
    scaled = _scaled_tail(op, op.Max(op.Neg(t), 1.0))
    below = op.Sub(op.Log(op.Mul(scaled, 0.5)), op.Mul(t, t))
    return op.cast(op.Where(op.Less(t, -1.0), below, above), op.dtype(value))


@lowering(aten.erfinv.default, aten.special_erfinv.default)
def erfinv(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    return op.cast(_erfinv64(op, op.cast(value, torch.float64)), op.dtype(value))


def _erfinv64(op: Emitter, y: ir.Value) -> ir.Value:
    """A rational guess, good to ten digits, and two steps of Newton's, as torch does."""
    size = op.Abs(y)
    z = op.Mul(y, y)
    centre = op.Div(
        polynomial(op, z, (-0.140543331, 0.914624893, -1.645349621, 0.886226899)),
        polynomial(op, z, (0.012229801, -0.329097515, 1.442710462, -2.118377725, 1.0)),
    )
    z = op.Sqrt(op.Neg(op.Log(op.Mul(op.Sub(1.0, op.Clip(size, 0.7, 1.0)), 0.5))))
    outside = op.Div(
        polynomial(op, z, (1.641345311, 3.429567803, -1.624906493, -1.970840454)),
        polynomial(op, z, (1.637067800, 3.543889200, 1.0)),
    )
    outside = op.Mul(op.Sign(y), outside)
    guess = op.Where(op.LessOrEqual(size, 0.7), op.Mul(y, centre), outside)
    for _ in range(2):
        slope = op.Mul(op.Exp(op.Neg(op.Mul(guess, guess))), 2 / math.sqrt(math.pi))
        guess = op.Sub(guess, op.Div(op.Sub(_erf64(op, guess), y), slope))
    edge = op.Mul(op.Sign(y), math.inf)
    result = op.Where(op.Equal(size, 1.0), edge, guess)
    return op.Where(op.Greater(size, 1.0), op.scalar(math.nan, torch.float64), result)


@lowering(aten.special_ndtri.default)
def ndtri(op: Emitter, x: ir.Value) -> ir.Value:
    (value,) = floating(op, x)
    wide = op.Sub(op.Mul(op.cast(value, torch.float64), 2.0), 1.0)
    return op.cast(op.Mul(_erfinv64(op, wide), math.sqrt(2)), op.dtype(value))
