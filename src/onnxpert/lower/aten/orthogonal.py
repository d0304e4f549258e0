"""Orthogonal polynomials of any order, by their recurrences in an ONNX Loop, in float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import Lowering, lowering
from onnxpert.lower.operands import floating
from onnxpert.lower.shapes import Shape, broadcast

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar
First = Callable[[Emitter, ir.Value], ir.Value]  # x -> the polynomial of order 1
# (x, k, of order k - 1, of order k - 2) -> of order k
Next = Callable[[Emitter, ir.Value, ir.Value, ir.Value, ir.Value], ir.Value]


def _family(packet: Any, first: First, following: Next, *, shifted: bool = False) -> Lowering:
    @lowering(packet.default, packet.x_scalar, packet.n_scalar)
    def polynomial(op: Emitter, x: Operand, n: Operand) -> ir.Value:
        argument, order = floating(op, x, n)
        dtype = op.dtype(argument)
        wide = op.cast(argument, torch.float64)
        if shifted:
            wide = op.Sub(op.Mul(wide, 2.0), 1.0)
        whole = op.cast(op.cast(order, torch.int64), torch.float64)
        return op.cast(_evaluated(op, wide, whole, first, following), dtype)

    return polynomial


def _evaluated(op: Emitter, x: ir.Value, n: ir.Value, first: First, following: Next) -> ir.Value:
    shape = broadcast(op.shape(x), op.shape(n))
    one, zero = (op.scalar(value, torch.float64) for value in (1.0, 0.0))
    starts = [op.expand(one, shape), op.expand(first(op, x), shape)]
    body = op.scope()
    step, going = _value(op, torch.int64, ()), _value(op, torch.bool, ())
    older, newer = _value(op, torch.float64, shape), _value(op, torch.float64, shape)
    k = body.Add(body.cast(step, torch.float64), 2.0)
    made = following(body, x, k, newer, older)
    wanted = body.LessOrEqual(k, n)
    outputs = [
        body.Equal(step, step),  # always: the count alone ends the loop
        body.Where(wanted, newer, older),
        body.Where(wanted, made, newer),
    ]
    graph = ir.Graph(
        [step, going, older, newer],
        outputs,
        nodes=body.nodes,
        name=op.shared.nodes.unique("recurrence"),
    )
    count = op.cast(op.Sub(op.reduce("ReduceMax", n, [], False), 1.0), torch.int64)
    trips = op.Max(count, op.scalar(0, torch.int64))
    _, result = op.emit("Loop", trips, None, *starts, body=graph, _outputs=2)
    result = op.describe(result, shape, torch.float64)
    result = op.Where(op.Equal(n, 0.0), one, result)
    return op.Where(op.Less(n, 0.0), zero, result)


def _value(op: Emitter, dtype: torch.dtype, shape: Shape) -> ir.Value:
    value = ir.Value(name=op.shared.values.unique("order"), type=ir.TensorType(TO_ONNX[dtype]))
    value.shape = ir.Shape([size if isinstance(size, int) else None for size in shape])
    value.meta["shape"] = shape
    return value


# ---- first orders and recurrences ----------------------------------------------------------


def _x(op: Emitter, x: ir.Value) -> ir.Value:
    return x


def _twice_and(offset: float) -> First:
    def first(op: Emitter, x: ir.Value) -> ir.Value:
        return op.Add(op.Mul(x, 2.0), offset)

    return first


def _one_minus(op: Emitter, x: ir.Value) -> ir.Value:
    return op.Sub(1.0, x)


def _chebyshev(op: Emitter, x: ir.Value, k: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
    return op.Sub(op.Mul(op.Mul(x, 2.0), p), q)


def _hermite_h(op: Emitter, x: ir.Value, k: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
    return op.Mul(op.Sub(op.Mul(x, p), op.Mul(op.Sub(k, 1.0), q)), 2.0)


def _hermite_he(op: Emitter, x: ir.Value, k: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
    return op.Sub(op.Mul(x, p), op.Mul(op.Sub(k, 1.0), q))


def _laguerre(op: Emitter, x: ir.Value, k: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
    factor = op.Sub(op.Sub(op.Mul(k, 2.0), 1.0), x)
    return op.Div(op.Sub(op.Mul(factor, p), op.Mul(op.Sub(k, 1.0), q)), k)


def _legendre(op: Emitter, x: ir.Value, k: ir.Value, p: ir.Value, q: ir.Value) -> ir.Value:
    factor = op.Mul(op.Sub(op.Mul(k, 2.0), 1.0), x)
    return op.Div(op.Sub(op.Mul(factor, p), op.Mul(op.Sub(k, 1.0), q)), k)


chebyshev_t = _family(aten.special_chebyshev_polynomial_t, _x, _chebyshev)
chebyshev_u = _family(aten.special_chebyshev_polynomial_u, _twice_and(0.0), _chebyshev)
chebyshev_v = _family(aten.special_chebyshev_polynomial_v, _twice_and(-1.0), _chebyshev)
chebyshev_w = _family(aten.special_chebyshev_polynomial_w, _twice_and(1.0), _chebyshev)
shifted_t = _family(aten.special_shifted_chebyshev_polynomial_t, _x, _chebyshev, shifted=True)
shifted_u = _family(
    aten.special_shifted_chebyshev_polynomial_u, _twice_and(0.0), _chebyshev, shifted=True
)
shifted_v = _family(
    aten.special_shifted_chebyshev_polynomial_v, _twice_and(-1.0), _chebyshev, shifted=True
)
shifted_w = _family(
    aten.special_shifted_chebyshev_polynomial_w, _twice_and(1.0), _chebyshev, shifted=True
)
hermite_h = _family(aten.special_hermite_polynomial_h, _twice_and(0.0), _hermite_h)
hermite_he = _family(aten.special_hermite_polynomial_he, _x, _hermite_he)
laguerre = _family(aten.special_laguerre_polynomial_l, _one_minus, _laguerre)
legendre = _family(aten.special_legendre_polynomial_p, _x, _legendre)
