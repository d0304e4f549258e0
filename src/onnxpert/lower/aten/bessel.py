"""Modified Bessel functions of the first kind, by the Chebyshev series of the Cephes library.

Torch has the same ones (S. L. Moshier's); all is computed in float64."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import floating

aten = torch.ops.aten

# Of exp(-x) * I(x) on [0, 8] (for order 1 divided by x), and of exp(-x) * sqrt(x) * I(x) beyond.
_I0_NEAR = (
    -4.4153416464793395e-18, 3.3307945188222384e-17, -2.431279846547955e-16,
    1.715391285555133e-15, -1.1685332877993451e-14, 7.676185498604936e-14,
    -4.856446783111929e-13, 2.95505266312964e-12, -1.726826291441556e-11, 9.675809035373237e-11,
    -5.189795601635263e-10, 2.6598237246823866e-09, -1.300025009986248e-08,
    6.046995022541919e-08, -2.670793853940612e-07, 1.1173875391201037e-06,
    -4.4167383584587505e-06, 1.6448448070728896e-05, -5.754195010082104e-05,
    0.00018850288509584165, -0.0005763755745385824, 0.0016394756169413357,
    -0.004324309995050576, 0.010546460394594998, -0.02373741480589947, 0.04930528423967071,
    -0.09490109704804764, 0.17162090152220877, -0.3046826723431984, 0.6767952744094761,
)  # fmt: skip
_I0_FAR = (
    -7.233180487874754e-18, -4.830504485944182e-18, 4.46562142029676e-17, 3.461222867697461e-17,
    -2.8276239805165836e-16, -3.425485619677219e-16, 1.7725601330565263e-15,
    3.8116806693526224e-15, -9.554846698828307e-15, -4.150569347287222e-14,
    1.54008621752141e-14, 3.8527783827421426e-13, 7.180124451383666e-13,
    -1.7941785315068062e-12, -1.3215811840447713e-11, -3.1499165279632416e-11,
    1.1889147107846439e-11, 4.94060238822497e-10, 3.3962320257083865e-09, 2.266668990498178e-08,
    2.0489185894690638e-07, 2.8913705208347567e-06, 6.889758346916825e-05,
    0.0033691164782556943, 0.8044904110141088,
)  # fmt: skip
_I1_NEAR = (
    2.7779141127610464e-18, -2.111421214358166e-17, 1.5536319577362005e-16,
    -1.1055969477353862e-15, 7.600684294735408e-15, -5.042185504727912e-14,
    3.223793365945575e-13, -1.9839743977649436e-12, 1.1736186298890901e-11,
    -6.663489723502027e-11, 3.625590281552117e-10, -1.8872497517228294e-09,
    9.381537386495773e-09, -4.445059128796328e-08, 2.0032947535521353e-07,
    -8.568720264695455e-07, 3.4702513081376785e-06, -1.3273163656039436e-05,
    4.781565107550054e-05, -0.00016176081582589674, 0.0005122859561685758,
    -0.0015135724506312532, 0.004156422944312888, -0.010564084894626197, 0.024726449030626516,
    -0.05294598120809499, 0.1026436586898471, -0.17641651835783406, 0.25258718644363365,
)  # fmt: skip
_I1_FAR = (
    7.517296310842105e-18, 4.414348323071708e-18, -4.6503053684893586e-17,
    -3.209525921993424e-17, 2.96262899764595e-16, 3.3082023109209285e-16,
    -1.8803547755107825e-15, -3.8144030724370075e-15, 1.0420276984128802e-14,
    4.272440016711951e-14, -2.1015418427726643e-14, -4.0835511110921974e-13,
    -7.198551776245908e-13, 2.0356285441470896e-12, 1.4125807436613782e-11,
    3.2526035830154884e-11, -1.8974958123505413e-11, -5.589743462196584e-10,
    -3.835380385964237e-09, -2.6314688468895196e-08, -2.512236237870209e-07,
    -3.882564808877691e-06, -0.00011058893876262371, -0.009761097491361469, 0.7785762350182801,
)  # fmt: skip


def _chebyshev(op: Emitter, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """By Clenshaw's rule, highest order first."""
    first, *rest = coefficients
    now: ir.Value = op.scalar(first, torch.float64)
    before: ir.Value = op.scalar(0.0, torch.float64)
    older = before
    for coefficient in rest:
        older, before = before, now
        now = op.Add(op.Sub(op.Mul(x, before), older), coefficient)
    return op.Mul(op.Sub(now, older), 0.5)


def _scaled(
    op: Emitter, x: ir.Value, near: Sequence[float], far: Sequence[float], odd: bool
) -> ir.Value:
    """exp(-|x|) * I(x)."""
    size = op.Abs(x)
    inner = _chebyshev(op, op.Sub(op.Mul(op.Min(size, 8.0), 0.5), 2.0), near)
    large = op.Max(size, 8.0)
    outer = op.Div(_chebyshev(op, op.Sub(op.Div(32.0, large), 2.0), far), op.Sqrt(large))
    if odd:
        inner, outer = op.Mul(inner, x), op.Mul(outer, op.Sign(x))
    return op.Where(op.LessOrEqual(size, 8.0), inner, outer)


def _bessel(op: Emitter, x: ir.Value, *, odd: bool, scaled: bool) -> ir.Value:
    (value,) = floating(op, x)
    wide = op.cast(value, torch.float64)
    near, far = (_I1_NEAR, _I1_FAR) if odd else (_I0_NEAR, _I0_FAR)
    result = _scaled(op, wide, near, far, odd)
    if not scaled:
        result = op.Mul(result, op.Exp(op.Abs(wide)))
    return op.cast(result, op.dtype(value))


@lowering(aten.i0.default, aten.special_i0.default, aten.special_modified_bessel_i0.default)
def i0(op: Emitter, x: ir.Value) -> ir.Value:
    return _bessel(op, x, odd=False, scaled=False)


@lowering(aten.special_i0e.default)
def i0e(op: Emitter, x: ir.Value) -> ir.Value:
    return _bessel(op, x, odd=False, scaled=True)


@lowering(aten.special_i1.default, aten.special_modified_bessel_i1.default)
def i1(op: Emitter, x: ir.Value) -> ir.Value:
    return _bessel(op, x, odd=True, scaled=False)


@lowering(aten.special_i1e.default)
def i1e(op: Emitter, x: ir.Value) -> ir.Value:
    return _bessel(op, x, odd=True, scaled=True)
