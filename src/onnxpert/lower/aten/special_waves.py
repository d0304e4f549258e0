"""Bessel functions of the first and second kind, in float64.

Chebyshev series, fitted in 40 digits to what is left when logarithms, poles and waves are taken
out (Abramowitz and Stegun 9.1.11, 9.2.5 and 9.2.6)."""

from __future__ import annotations

import math
from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import floating

aten = torch.ops.aten
WIDE = torch.float64
_EDGE = 8.0

# Of J0(x), J1(x) / x and the like on [0, 8], over x**2; of the waves' parts beyond, over (8 / x)**2.
_J0_NEAR = (
    0.15772797147489012, -0.008723442352852221, 0.2651786132033368, -0.37009499387264977,
    0.15806710233209725, -0.034893769411408884, 0.004819180069467605, -0.00046062616620627504,
    3.246032882100508e-05, -1.7619469077621507e-06, 7.608163592418782e-08,
    -2.679253530557673e-09, 7.848696314479465e-11, -1.9438346867370164e-12,
    4.125320595634374e-14, -7.588508125447546e-16, 1.2218515873961411e-17,
)  # fmt: skip
_J1_NEAR = (
    0.08104484632565812, -0.1489751450676521, 0.1609992623572097, -0.08268049176681791,
    0.022213639654966037, -0.003646940600769276, 0.0004050337728354822,
    -3.255554866857259e-05, 1.9858774049915165e-06, -9.521984756750436e-08,
    3.687133759097148e-09, -1.178026622695885e-10, 3.160154580348003e-12,
    -7.221755239651773e-14, 1.4232144003513942e-15, -2.4441972916190464e-17,
    3.6912682997929334e-19,
)  # fmt: skip
_P0 = (
    0.9994603493475187, -0.0005365220468132117, 3.0751847875194745e-06,
    -5.1705945376060975e-08, 1.6306464635151382e-09, -7.86409137723707e-11,
    5.168262387349193e-12, -4.3045788699253914e-13, 4.3265957431549404e-14,
    -5.069034095935236e-15, 6.748072215733873e-16, -1.0011513723467786e-16,
    1.6305919233744186e-17, -2.880866169482871e-18,
)  # fmt: skip
_Q0 = (
    -0.015555854605337009, 6.838519942611649e-05, -7.414498411060647e-07,
    1.7972457247968992e-08, -7.27191593686632e-10, 4.2201219046687385e-11,
    -3.206747420996635e-12, 3.006145125351706e-13, -3.336328185322427e-14,
    4.255225040245461e-15, -6.09993013164005e-16, 9.662128970303257e-17,
    -1.6686065214378146e-17, 3.1082440486738143e-18, -6.191115787358145e-19,
    1.3091448717220122e-19, -2.9211627152642775e-20,
)  # fmt: skip
_P1 = (
    1.0009030408600137, 0.0008989898330859408, -3.987284300488908e-06, 6.177633960644299e-08,
    -1.8718907491063067e-09, 8.816898659582339e-11, -5.704863640395645e-12,
    4.699195515230542e-13, -4.6842237839904895e-14, 5.452674896044717e-15,
    -7.221180842274018e-16, 1.0667689114335412e-16, -1.7312313216116335e-17,
    3.0492991197665872e-18,
)  # fmt: skip
_Q1 = (
    0.04677778706953532, -9.62772354915708e-05, 9.138615257955454e-07,
    -2.0959781384083424e-08, 8.229193327650554e-10, -4.686363688176945e-11,
    3.5152187949686082e-12, -3.2643156743279e-13, 3.5967765829165294e-14,
    -4.5612523950772974e-15, 6.508282957783384e-16, -1.0269147531823243e-16,
    1.767635548776479e-17, -3.2834519872981614e-18, 6.524081149589261e-19,
    -1.3765771484849487e-19,
)  # fmt: skip
_Y0_NEAR = (
    -0.03314611320328494, -0.2744743055297453, 0.17903431407718265, 0.26156734625504663,
    -0.17730201278114358, 0.04719668959576339, -0.007287962479552079, 0.0007531135932577742,
    -5.632079141056987e-05, 3.206532537654801e-06, -1.44072332740187e-07,
    5.248794787330516e-09, -1.5837552541812015e-10, 4.02633081830612e-12,
    -8.747341203310769e-14, 1.6434898714919468e-15, -2.6977881152566837e-17,
    3.9032584173475982e-19,
)  # fmt: skip
_Y1_NEAR = (
    0.0025380132357417816, -0.01608717304766875, -0.09591204536083074, 0.08445197259652346,
    -0.028328123944594365, 0.005289897544167113, -0.0006414551451326356,
    5.505982873338744e-05, -3.53808001868935e-06, 1.7707804556154404e-07,
    -7.11055004989928e-09, 2.344337905911516e-10, -6.4651518414115946e-12,
    1.51429151205002e-13, -3.0511859694473254e-15, 5.34668038572867e-17,
    -8.224911372021585e-19,
)  # fmt: skip


def series(op: Emitter, x: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """The sum of c[k] T_k(x) for x in [-1, 1], by Clenshaw's rule."""
    twice = op.Mul(x, 2.0)
    now, before = op.scalar(coefficients[-1], WIDE), op.scalar(0.0, WIDE)
    for coefficient in reversed(coefficients[1:-1]):
        now, before = op.Add(op.Sub(op.Mul(twice, now), before), coefficient), now
    return op.Add(op.Sub(op.Mul(x, now), before), coefficients[0])


def _near(op: Emitter, size: ir.Value, coefficients: Sequence[float]) -> ir.Value:
    """A series over the square of what is at most 8."""
    square = op.Mul(op.Mul(size, size), 2 / _EDGE**2)
    return series(op, op.Sub(square, 1.0), coefficients)


def _wave(op: Emitter, size: ir.Value, order: int, quarter: bool) -> ir.Value:
    """J (or Y, which is a quarter of a turn behind it) beyond 8."""
    inverse = op.Div(_EDGE, size)
    place = op.Sub(op.Mul(op.Mul(inverse, inverse), 2.0), 1.0)
    even = series(op, place, _P1 if order else _P0)
    odd = op.Mul(series(op, place, _Q1 if order else _Q0), inverse)
    angle = op.Sub(size, (2 * order + 1) * math.pi / 4)
    cosine, sine = op.Cos(angle), op.Sin(angle)
    if quarter:
        wave = op.Add(op.Mul(even, sine), op.Mul(odd, cosine))
    else:
        wave = op.Sub(op.Mul(even, cosine), op.Mul(odd, sine))
    return op.Mul(wave, op.Sqrt(op.Div(2 / math.pi, size)))


def _first_kind(op: Emitter, x: ir.Value, order: int) -> ir.Value:
    size = op.Abs(x)
    near = op.Min(size, _EDGE)
    inner = _near(op, near, _J1_NEAR if order else _J0_NEAR)
    outer = _wave(op, op.Max(size, _EDGE), order, False)
    if order:
        inner = op.Mul(inner, near)
    result = op.Where(op.LessOrEqual(size, _EDGE), inner, outer)
    return op.Mul(result, op.Sign(x)) if order else result


def _second_kind(op: Emitter, x: ir.Value, order: int) -> ir.Value:
    near = op.Min(x, _EDGE)
    rest = _near(op, near, _Y1_NEAR if order else _Y0_NEAR)
    turn = op.Mul(op.Log(near), _first_kind(op, near, order))
    if order:
        turn = op.Sub(turn, op.Reciprocal(near))
        rest = op.Mul(rest, near)
    inner = op.Add(op.Mul(turn, 2 / math.pi), rest)
    outer = _wave(op, op.Max(x, _EDGE), order, True)
    result = op.Where(op.LessOrEqual(x, _EDGE), inner, outer)
    return op.Where(op.Equal(x, 0.0), op.scalar(-math.inf, WIDE), result)


@lowering(aten.special_bessel_j0.default)
def bessel_j0(op: Emitter, x: ir.Value) -> ir.Value:
    (own,) = floating(op, x)
    return op.cast(_first_kind(op, op.cast(own, WIDE), 0), op.dtype(own))


@lowering(aten.special_bessel_j1.default)
def bessel_j1(op: Emitter, x: ir.Value) -> ir.Value:
    (own,) = floating(op, x)
    return op.cast(_first_kind(op, op.cast(own, WIDE), 1), op.dtype(own))


@lowering(aten.special_bessel_y0.default)
def bessel_y0(op: Emitter, x: ir.Value) -> ir.Value:
    (own,) = floating(op, x)
    return op.cast(_second_kind(op, op.cast(own, WIDE), 0), op.dtype(own))


@lowering(aten.special_bessel_y1.default)
def bessel_y1(op: Emitter, x: ir.Value) -> ir.Value:
    (own,) = floating(op, x)
    return op.cast(_second_kind(op, op.cast(own, WIDE), 1), op.dtype(own))
