"""Common divisors and multiples of integers, by Euclid's algorithm in an ONNX Loop."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, promoted
from onnxpert.lower.shapes import Shape, broadcast

aten = torch.ops.aten
_MOST = 92  # steps that the two largest neighbours of Fibonacci's in int64 take


@lowering(aten.gcd.default)
def gcd(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    a, b = promoted(op, x, other)
    return op.cast(_divisor(op, a, b), op.dtype(a))


@lowering(aten.lcm.default)
def lcm(op: Emitter, x: ir.Value, other: ir.Value) -> ir.Value:
    a, b = promoted(op, x, other)
    divisor = op.cast(_divisor(op, a, b), op.dtype(a))
    safe = call(op, "Max", divisor, 1)  # of two zeros it is 0, and so is their multiple
    return call(op, "Abs", call(op, "Mul", call(op, "Div", a, safe), b))


def _divisor(op: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    shape = broadcast(op.shape(a), op.shape(b))
    a, b = (op.expand(op.Abs(op.cast(value, torch.int64)), shape) for value in (a, b))
    body = op.scope()
    step = _value(op, "step", torch.int64, ())
    going = _value(op, "going", torch.bool, ())
    larger, smaller = (_value(op, name, torch.int64, shape) for name in ("larger", "smaller"))
    done = body.Equal(smaller, 0)
    rest = body.Mod(larger, body.Max(smaller, 1))
    next_larger = chosen(body, done, larger, smaller)
    next_smaller = chosen(body, done, smaller, rest)
    left = body.ReduceMax(next_smaller, keepdims=0)
    graph = ir.Graph(
        [step, going, larger, smaller],
        [body.Greater(left, 0), next_larger, next_smaller],
        nodes=body.nodes,
        name=op.shared.nodes.unique("divisor"),
    )
    result, _ = op.emit("Loop", op.scalar(_MOST, torch.int64), None, a, b, body=graph, _outputs=2)
    return op.describe(result, shape, torch.int64)


def _value(op: Emitter, name: str, dtype: torch.dtype, shape: Shape) -> ir.Value:
    value = ir.Value(name=op.shared.values.unique(name), type=ir.TensorType(TO_ONNX[dtype]))
    value.shape = ir.Shape([size if isinstance(size, int) else None for size in shape])
    value.meta["shape"] = shape
    return value
