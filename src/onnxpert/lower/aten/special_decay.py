"""Modified Bessel functions of the second kind and Airy's function, in float64.

Chebyshev series, fitted in 40 digits to what is left when logarithms, poles, decay and waves are
taken out (Abramowitz and Stegun 9.6.11, 9.7.2, 10.4.59 and 10.4.60)."""

from __future__ import annotations

import math

import onnx_ir as ir
import torch

from onnxpert.lower.aten.bessel import i0, i1
from onnxpert.lower.aten.special_waves import WIDE, series
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import floating

aten = torch.ops.aten
_EDGE = 2.0
_AIRY_EDGE = 3.0
_AIRY_ZETA = 2 / 3 * _AIRY_EDGE**1.5

# On [0, 2] over x**2; beyond, over 2 / x.
_K0_NEAR = (
    -0.2676636966169514, 0.3442898999246285, 0.0359799365153615, 0.001264615411446926,
    2.286212103119452e-05, 2.5347910790261494e-07, 1.904516377220209e-09,
    1.0349695257633625e-11, 4.2598161427910826e-14, 1.3744654358807508e-16,
    3.5708965285083736e-19,
)  # fmt: skip
_K1_NEAR = (
    0.7626501136694739, -0.3531559607765449, -0.12261118082265715, -0.006975723859639864,
    -0.0001730288957513052, -2.4334061415659684e-06, -2.213387630734726e-08,
    -1.4114883926335278e-10, -6.666901694199329e-13, -2.427449850519366e-15,
    -7.023863479386288e-18,
)  # fmt: skip
_K0_FAR = (
    1.2201515410329777, -0.0314481013119645, 0.0015698838857300533, -0.00012849549581627802,
    1.39498137188765e-05, -1.8317555227191195e-06, 2.766813639445015e-07,
    -4.660489897687948e-08, 8.574034017414225e-09, -1.6975345093890614e-09,
    3.5773972814003283e-10, -7.957489244477396e-11, 1.8559491149549264e-11,
    -4.514597883374519e-12, 1.1403405882073441e-12, -2.9800969231481784e-13,
    8.032890775068375e-14, -2.2275133267462965e-14, 6.340076476276646e-15,
    -1.848593377920907e-15, 5.5120559994043335e-16, -1.6782311257549006e-16,
    5.2103917776435543e-17, -1.6475805939842632e-17, 5.3004337711773354e-18,
    -1.7331712005821001e-18,
)  # fmt: skip
_K1_FAR = (
    1.3603130952422213, 0.10392373657681724, -0.002857816859622779, 0.00019521551847135162,
    -1.936197974166083e-05, 2.406484947837217e-06, -3.5019606030878126e-07,
    5.7410841254500495e-08, -1.0345762465678097e-08, 2.0150497551970347e-09,
    -4.1903547593419254e-10, 9.218315187605315e-11, -2.129967838427791e-11,
    5.139639673482343e-12, -1.2891739609498229e-12, 3.348419666052243e-13,
    -8.976705182010146e-14, 2.4771544242195988e-14, -7.0198370892147685e-15,
    2.038703166239861e-15, -6.057047270643018e-16, 1.8380935752430455e-16,
    -5.689462849193648e-17, 1.7940510478863572e-17, -5.7567444820733025e-18,
    1.8778651901623268e-18,
)  # fmt: skip

# On [-3, 3] over x; beyond, over the inverse of zeta = 2 / 3 * x**1.5 (of its square below).
_AIRY_MIDDLE = (
    0.09012738455715785, 0.053940913526009576, -0.2969391528216673, 0.19369862876728744,
    -0.0023953683131233863, -0.054677767988676414, 0.026466807940476553,
    -0.0015272822794018765, -0.0033110315136980336, 0.0013706775830001126,
    -9.564896295781664e-05, -0.00010033407470915483, 3.7299570345339265e-05,
    -2.7222928524365062e-06, -1.8288062860468095e-06, 6.260103971504244e-07,
    -4.5742913431223385e-08, -2.2278092347306883e-08, 7.130612404404435e-09,
    -5.128609093012623e-10, -1.9427549609863267e-10, 5.875464402161978e-11,
    -4.129307525002218e-12, -1.2730474171456336e-12, 3.665579607167945e-13,
    -2.5094700341513603e-14, -6.498838258334547e-15, 1.7919158821260863e-15,
    -1.1936108365552879e-16, -2.657840511880498e-17, 7.049706654908702e-18,
    -4.568316096903315e-19,
)  # fmt: skip
_AIRY_ABOVE = (
    0.9909253278629121, -0.008787979198916314, 0.0002708640061605207, -1.46317247353397e-05,
    1.0852260208359393e-06, -9.972552056312785e-08, 1.0739090386447278e-08,
    -1.309259653125608e-09, 1.765607635969083e-10, -2.5904351203535138e-11,
    4.084102938847913e-12, -6.853850259533148e-13, 1.2151224622938065e-13,
    -2.2621141137901326e-14, 4.399957412572512e-15, -8.904529694172307e-16,
    1.868404039422278e-16, -4.052458927104195e-17, 9.06199842241024e-18,
    -2.084502130654815e-18,
)  # fmt: skip
_AIRY_BELOW_COS = (
    0.9985699626310912, -0.0013951995769053717, 3.267841506400246e-05,
    -1.9404091544431855e-06, 1.8869330795558386e-07, -2.5081398395940352e-08,
    4.147665235330316e-09, -8.070839465359446e-10, 1.7827924805699562e-10,
    -4.361705273201904e-11, 1.161185427365765e-11, -3.319778087279854e-12,
    1.0089771012367244e-12, -3.2341424638014315e-13, 1.086339783463564e-13,
    -3.803935598638535e-14, 1.382553936868321e-14, -5.196785439951606e-15,
    2.0139656226370207e-15, -8.025754109984125e-16, 3.2812807447958266e-16,
    -1.3735972268163478e-16, 5.877253876350081e-17, -2.566360832248659e-17,
    1.1420714221076035e-17, -5.1733143112217866e-18, 2.382686535772966e-18,
    -1.1146971703068371e-18,
)  # fmt: skip
_AIRY_BELOW_SIN = (
    0.01965165930614787, -0.00037769834827008377, 1.6026559415322603e-05,
    -1.3119608980540305e-06, 1.5777333692859496e-07, -2.4510346198235124e-08,
    4.579429433575148e-09, -9.845953889978368e-10, 2.3657770454710624e-10,
    -6.223750456272966e-11, 1.7659796977735664e-11, -5.343912196610367e-12,
    1.7094574166911662e-12, -5.740565257433585e-13, 2.0123294510019287e-13,
    -7.329563413035016e-14, 2.7632073064933603e-14, -1.0747051122140543e-14,
    4.300296945719657e-15, -1.7660454600202256e-15, 7.428445064169229e-16,
    -3.1944649971533366e-16, 1.402195258024494e-16, -6.273563649590444e-17,
    2.857380909041822e-17, -1.3233659685625459e-17, 6.225999885616797e-18,
    -2.972744543498726e-18, 1.4393438312193538e-18, -7.06157535319442e-19,
    3.5080750074947317e-19, -1.763565904454883e-19, 8.96639195447228e-20,
    -4.608021238117323e-20, 2.3925841921429675e-20,
)  # fmt: skip


def _second_kind(op: Emitter, x: ir.Value, order: int, scaled: bool) -> ir.Value:
    (own,) = floating(op, x)
    wide = op.cast(own, WIDE)
    near, far = op.Min(wide, _EDGE), op.Max(wide, _EDGE)
    place = op.Sub(op.Mul(op.Mul(near, near), 2 / _EDGE**2), 1.0)
    rest = series(op, place, _K1_NEAR if order else _K0_NEAR)
    turn = op.Mul(op.Log(op.Mul(near, 0.5)), (i1 if order else i0)(op, near))
    inner = op.Add(op.Div(rest, near), turn) if order else op.Sub(rest, turn)
    place = op.Sub(op.Div(2 * _EDGE, far), 1.0)
    outer = op.Div(series(op, place, _K1_FAR if order else _K0_FAR), op.Sqrt(far))
    if scaled:
        inner = op.Mul(inner, op.Exp(near))
    else:
        outer = op.Mul(outer, op.Exp(op.Neg(far)))
    result = op.Where(op.LessOrEqual(wide, _EDGE), inner, outer)
    result = op.Where(op.Equal(wide, 0.0), op.scalar(math.inf, WIDE), result)
    # Min and Max above lose a NaN, which is not above 0 either.
    result = op.Where(op.GreaterOrEqual(wide, 0.0), result, op.scalar(math.nan, WIDE))
    return op.cast(result, op.dtype(own))


@lowering(aten.special_modified_bessel_k0.default)
def modified_bessel_k0(op: Emitter, x: ir.Value) -> ir.Value:
    return _second_kind(op, x, 0, False)


@lowering(aten.special_modified_bessel_k1.default)
def modified_bessel_k1(op: Emitter, x: ir.Value) -> ir.Value:
    return _second_kind(op, x, 1, False)


@lowering(aten.special_scaled_modified_bessel_k0.default)
def scaled_modified_bessel_k0(op: Emitter, x: ir.Value) -> ir.Value:
    return _second_kind(op, x, 0, True)


@lowering(aten.special_scaled_modified_bessel_k1.default)
def scaled_modified_bessel_k1(op: Emitter, x: ir.Value) -> ir.Value:
    return _second_kind(op, x, 1, True)


# ---- Airy ----------------------------------------------------------------------------------


@lowering(aten.special_airy_ai.default)
def airy_ai(op: Emitter, x: ir.Value) -> ir.Value:
    (own,) = floating(op, x)
    wide = op.cast(own, WIDE)
    size = op.Max(op.Abs(wide), _AIRY_EDGE)
    root = op.Sqrt(size)
    zeta = op.Mul(op.Mul(size, root), 2 / 3)
    height = op.Reciprocal(op.Mul(op.Sqrt(root), math.sqrt(math.pi)))
    above = op.Mul(_above(op, zeta), height)
    below = op.Mul(_below(op, zeta), height)
    middle = op.Max(op.Min(wide, _AIRY_EDGE), -_AIRY_EDGE)
    middle = series(op, op.Div(middle, _AIRY_EDGE), _AIRY_MIDDLE)
    result = op.Where(op.Greater(wide, _AIRY_EDGE), above, middle)
    result = op.Where(op.Less(wide, -_AIRY_EDGE), below, result)
    unknown = op.Or(op.IsInf(wide), op.IsNaN(wide))
    return op.cast(op.Where(unknown, op.scalar(math.nan, WIDE), result), op.dtype(own))


def _above(op: Emitter, zeta: ir.Value) -> ir.Value:
    place = op.Sub(op.Div(2 * _AIRY_ZETA, zeta), 1.0)
    decay = op.Mul(op.Exp(op.Neg(zeta)), 0.5)
    return op.Mul(series(op, place, _AIRY_ABOVE), decay)


def _below(op: Emitter, zeta: ir.Value) -> ir.Value:
    inverse = op.Div(_AIRY_ZETA, zeta)
    place = op.Sub(op.Mul(op.Mul(inverse, inverse), 2.0), 1.0)
    angle = op.Sub(zeta, math.pi / 4)
    even = op.Mul(series(op, place, _AIRY_BELOW_COS), op.Cos(angle))
    odd = op.Mul(op.Mul(series(op, place, _AIRY_BELOW_SIN), inverse), op.Sin(angle))
    return op.Add(even, odd)
