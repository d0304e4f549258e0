"""Random numbers that take several draws each: counts of events, and waiting times for many."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linalg_turns import turns
from onnxpert.lower.aten.random import normal_numbers, uniform_numbers
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import broadcast

aten = torch.ops.aten
_WIDE = torch.float64
_RATE = 256.0  # events at a time; the chance of none is still a number then
_MOST = 100_000  # turns; none of these loops comes anywhere near


@lowering(aten.poisson.default)
def poisson(op: Emitter, x: ir.Value) -> ir.Value:
    """A number of events is the sum of those of shorter times, each by its distribution function."""
    shape, rate = op.shape(x), op.cast(x, _WIDE)
    times = op.Max(op.Ceil(op.Div(rate, _RATE)), 1.0)
    part = op.Div(rate, times)

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        more = body.Less(body.cast(turn, _WIDE), times)
        return [body.Add(carried[0], body.Where(more, _events(body, part), 0.0))]

    start = op.expand(op.scalar(0.0, _WIDE), shape)
    most = op.cast(op.reduce("ReduceMax", times, [], False), torch.int64)
    return op.cast(turns(op, most, [start], step)[0], op.dtype(x))


def _events(op: Emitter, rate: ir.Value) -> ir.Value:
    """Counts upwards until the distribution function has reached what was drawn."""
    shape = op.shape(rate)
    drawn = uniform_numbers(op, shape, _WIDE)
    chance = op.Exp(op.Neg(rate))

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        number, chance, total = carried
        more = body.LessOrEqual(total, drawn)
        after = body.Div(body.Mul(chance, rate), body.cast(body.Add(turn, 1), _WIDE))
        return [
            body.Add(number, body.cast(more, _WIDE)),
            body.Where(more, after, chance),
            body.Where(more, body.Add(total, after), total),
        ]

    def going(body: Emitter, carried: Sequence[ir.Value]) -> ir.Value:
        # Rounding may leave the sum a little below one: then the chances are exhausted.
        left = body.And(body.LessOrEqual(carried[2], drawn), body.Greater(carried[1], 1e-300))
        return _any(body, left)

    nothing = op.expand(op.scalar(0.0, _WIDE), shape)
    return turns(op, _MOST, [nothing, chance, chance], step, going)[0]


def _any(op: Emitter, condition: ir.Value) -> ir.Value:
    return op.Greater(op.reduce("ReduceSum", op.cast(condition, torch.int64), [], False), 0)


@lowering(aten.binomial.default)
def binomial(op: Emitter, count: ir.Value, prob: ir.Value) -> ir.Value:
    """So many trials, one after the other."""
    shape = broadcast(op.shape(count), op.shape(prob))

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        tried = body.Less(body.cast(turn, _WIDE), trials)
        drawn = body.Less(uniform_numbers(body, shape, torch.float32), chance)
        return [body.Add(carried[0], body.cast(body.And(tried, drawn), _WIDE))]

    trials, chance = op.cast(count, _WIDE), op.cast(prob, torch.float32)
    most = op.cast(op.reduce("ReduceMax", trials, [], False), torch.int64)
    start = op.expand(op.scalar(0.0, _WIDE), shape)
    return op.cast(turns(op, most, [start], step)[0], op.dtype(count))


@lowering(aten._standard_gamma.default)
def standard_gamma(op: Emitter, x: ir.Value) -> ir.Value:
    """Marsaglia's and Tsang's method: drawn until accepted; below one by way of one more."""
    shape, alpha = op.shape(x), op.cast(x, _WIDE)
    small = op.Less(alpha, 1.0)
    d = op.Sub(op.Where(small, op.Add(alpha, 1.0), alpha), 1 / 3)
    c = op.Reciprocal(op.Sqrt(op.Mul(d, 9.0)))

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        value, done = carried
        normal = normal_numbers(body, shape, _WIDE)
        side = body.Add(body.Mul(normal, c), 1.0)
        cube = body.Mul(body.Mul(side, side), side)
        safe = body.Where(body.Greater(cube, 0.0), cube, 1.0)
        limit = body.Add(body.Sub(body.Log(safe), safe), 1.0)
        limit = body.Add(body.Mul(d, limit), body.Mul(body.Mul(normal, normal), 0.5))
        drawn = body.Log(body.Sub(1.0, uniform_numbers(body, shape, _WIDE)))
        taken = body.And(body.Greater(cube, 0.0), body.Less(drawn, limit))
        fresh = body.And(taken, body.Not(done))
        return [body.Where(fresh, body.Mul(d, cube), value), body.Or(done, taken)]

    def going(body: Emitter, carried: Sequence[ir.Value]) -> ir.Value:
        return _any(body, body.Not(carried[1]))

    nothing = op.expand(op.scalar(0.0, _WIDE), shape)
    not_yet = op.expand(op.const(False, torch.bool), shape)
    value = turns(op, _MOST, [nothing, not_yet], step, going)[0]
    boost = op.Log(op.Sub(1.0, uniform_numbers(op, shape, _WIDE)))
    boost = op.Exp(op.Div(boost, op.Where(small, alpha, 1.0)))
    smallest = torch.finfo(op.dtype(x)).tiny
    result = op.Where(small, op.Mul(value, boost), value)
    return op.cast(op.Max(result, smallest), op.dtype(x))


@lowering(aten._sample_dirichlet.default)
def sample_dirichlet(op: Emitter, x: ir.Value) -> Any:
    # In float64, as torch does: a small share is far smaller before it is divided.
    parts = standard_gamma(op, op.cast(x, _WIDE))
    shares = op.Div(parts, op.reduce("ReduceSum", parts, [op.rank(parts) - 1], True))
    return op.cast(op.Max(shares, torch.finfo(op.dtype(x)).tiny), op.dtype(x))
