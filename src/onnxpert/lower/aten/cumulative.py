"""Running sums, products, maxima and minima along a dimension, and differences of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.casting import converted
from onnxpert.lower.aten.exponential import logaddexp
from onnxpert.lower.complex_pairs import as_complex, is_complex, stored
from onnxpert.lower.dtypes import TO_ONNX
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call, chosen, floating, native
from onnxpert.lower.shapes import Shape
from onnxpert.lower.symbols import same

aten = torch.ops.aten
Pair = tuple[ir.Value, ir.Value]
# (emitter of the body, what is carried so far, the next slice) -> what is carried on
Step = Callable[[Emitter, Sequence[ir.Value], ir.Value], Sequence[ir.Value]]


def _summable(op: Emitter, x: ir.Value, dtype: torch.dtype | None) -> ir.Value:
    if dtype is None and not op.dtype(x).is_floating_point:
        dtype = torch.int64
    return converted(op, x, dtype)


@lowering(aten.cumsum.default)
def cumsum(op: Emitter, x: ir.Value, dim: int, dtype: torch.dtype | None = None) -> ir.Value:
    x = _summable(op, x, dtype)
    if op.rank(x) == 0:
        return x
    own = op.dtype(x)
    wide = native(op, "CumSum", own)
    total = op.CumSum(op.cast(x, wide), op.scalar(dim % op.rank(x), torch.int64))
    return op.cast(total, own)


@lowering(aten.cumprod.default)
def cumprod(op: Emitter, x: ir.Value, dim: int, dtype: torch.dtype | None = None) -> ir.Value:
    x = _summable(op, x, dtype)
    if _is_trivial(op, x, dim):
        return x

    def step(body: Emitter, carried: Sequence[ir.Value], item: ir.Value) -> Sequence[ir.Value]:
        return [call(body, "Mul", carried[0], item)]

    start = op.expand(op.scalar(1, op.dtype(x)), _slice_shape(op, x, dim))
    return _running(op, x, dim, [start], step)[0]


@lowering(aten.cumprod.default, complex=True)
def complex_cumprod(
    op: Emitter, x: ir.Value, dim: int, dtype: torch.dtype | None = None
) -> ir.Value:
    if not is_complex(x) or dtype is not None:
        raise Refusal("the dtype of complex running products cannot be changed on the way")
    if _is_trivial(op, x, dim):
        return x
    pairs, axis = stored(op, x), dim % op.rank(x)
    shape = _slice_shape(op, pairs, axis)

    def step(body: Emitter, carried: Sequence[ir.Value], item: ir.Value) -> Sequence[ir.Value]:
        last = len(shape) - 1
        (a, b), (c, d) = (
            [body.Gather(each, body.const([i], torch.int64), axis=last) for i in (0, 1)]
            for each in (carried[0], item)
        )
        re = body.Sub(body.Mul(a, c), body.Mul(b, d))
        im = body.Add(body.Mul(a, d), body.Mul(b, c))
        return [body.Concat(re, im, axis=last)]

    start = op.expand(op.const([1, 0], op.dtype(x)), shape)
    return as_complex(op, _running(op, pairs, axis, [start], step)[0])


@lowering(aten.logcumsumexp.default, aten._logcumsumexp.default)
def logcumsumexp(op: Emitter, x: ir.Value, dim: int) -> ir.Value:
    (x,) = floating(op, x)
    if _is_trivial(op, x, dim):
        return x

    def step(body: Emitter, carried: Sequence[ir.Value], item: ir.Value) -> Sequence[ir.Value]:
        return [logaddexp(body, carried[0], item)]

    start = op.expand(op.scalar(-math.inf, op.dtype(x)), _slice_shape(op, x, dim))
    return _running(op, x, dim, [start], step)[0]


@lowering(aten.cummax.default)
def cummax(op: Emitter, x: ir.Value, dim: int) -> Pair:
    return _extremes(op, x, dim, "GreaterOrEqual")


@lowering(aten.cummin.default)
def cummin(op: Emitter, x: ir.Value, dim: int) -> Pair:
    return _extremes(op, x, dim, "LessOrEqual")


def _extremes(op: Emitter, x: ir.Value, dim: int, comparison: str) -> Pair:
    """The extreme so far and its last place; NaN is beyond every number."""
    if _is_trivial(op, x, dim):
        return x, op.expand(op.scalar(0, torch.int64), op.shape(x))
    own = op.dtype(x)
    if own is torch.bool:  # of truth values there is no larger one in ONNX
        values, places = _extremes(op, op.cast(x, torch.int32), dim, comparison)
        return op.cast(values, torch.bool), places

    def step(body: Emitter, carried: Sequence[ir.Value], item: ir.Value) -> Sequence[ir.Value]:
        best, place, index = carried
        beyond = call(body, comparison, item, best)
        if own.is_floating_point:
            known = body.Not(call(body, "IsNaN", best))
            beyond = body.Or(body.And(beyond, known), call(body, "IsNaN", item))
        return [
            chosen(body, beyond, item, best),
            body.Where(beyond, index, place),
            body.Add(index, 1),
        ]

    axis = dim % op.rank(x)
    first = op.squeeze(op.Slice(x, [0], [1], [axis]), axis)
    op.describe(first, _slice_shape(op, x, dim))
    nowhere = op.expand(op.scalar(0, torch.int64), _slice_shape(op, x, dim))
    starts = [first, nowhere, op.scalar(0, torch.int64)]
    values, places = _running(op, x, dim, starts, step, kept=2)
    return values, places


def _is_trivial(op: Emitter, x: ir.Value, dim: int) -> bool:
    """Nothing to run along: no elements, one number, or one slice."""
    sizes = op.shape(x)
    return not sizes or same(sizes[dim], 1) or any(same(size, 0) for size in sizes)


def _slice_shape(op: Emitter, x: ir.Value, dim: int) -> Shape:
    sizes = op.shape(x)
    axis = dim % len(sizes)
    return (*sizes[:axis], *sizes[axis + 1 :])


def _running(
    op: Emitter, x: ir.Value, dim: int, starts: Sequence[ir.Value], step: Step, kept: int = 1
) -> list[ir.Value]:
    """What `step` carries along a dimension, slice by slice: the first `kept` of it, by a Scan."""
    axis = dim % op.rank(x)
    if axis:
        # ONNX Runtime dies when it moves the axis of a tensor without elements itself, and the
        # reference evaluator moves none.
        first = [axis, *(other for other in range(op.rank(x)) if other != axis)]
        back = [first.index(place) for place in range(op.rank(x))]
        found = _running(op, op.Transpose(x, perm=first), 0, starts, step, kept)
        return [op.Transpose(each, perm=back) for each in found]
    body = op.scope()
    carried = [_input(op, start, op.shape(start)) for start in starts]
    item = _input(op, x, _slice_shape(op, x, dim))
    results = list(step(body, carried, item))
    for result, start in zip(results, starts, strict=True):
        result.shape = _known(op.shape(start))
    outputs = [*results, *(_copy(body, result) for result in results[:kept])]
    graph = ir.Graph(
        [*carried, item], outputs, nodes=body.nodes, name=op.shared.nodes.unique("running")
    )
    made = op.emit(
        "Scan",
        *starts,
        x,
        body=graph,
        num_scan_inputs=1,
        _outputs=len(starts) + kept,
    )
    last, stacked = made[: len(starts)], made[len(starts) :]
    for value, start in zip(last, starts, strict=True):
        op.describe(value, op.shape(start), op.dtype(start))
    return [
        op.describe(value, op.shape(x), op.dtype(start))
        for value, start in zip(stacked, starts, strict=False)
    ]


def _input(op: Emitter, like: ir.Value, shape: Shape) -> ir.Value:
    value = ir.Value(
        name=op.shared.values.unique("running"), type=ir.TensorType(TO_ONNX[op.dtype(like)])
    )
    value.meta["shape"] = shape
    value.shape = _known(shape)
    return value


def _known(shape: Shape) -> ir.Shape:
    """The sizes that are known, for the runtime: it wants at least the rank of what a body gives."""
    return ir.Shape([size if isinstance(size, int) else None for size in shape])


def _copy(body: Emitter, value: ir.Value) -> ir.Value:
    """The same value once more: a body may not give one output twice."""
    node = ir.Node("", "Identity", [value], num_outputs=1)
    node.name = body.shared.nodes.unique("running/Identity")
    node.outputs[0].name = body.shared.values.unique("running")
    node.outputs[0].dtype = TO_ONNX[body.dtype(value)]
    node.outputs[0].shape = value.shape
    body.nodes.append(node)
    return node.outputs[0]


@lowering(aten.diff.default)
def diff(
    op: Emitter,
    x: ir.Value,
    n: int = 1,
    dim: int = -1,
    prepend: ir.Value | None = None,
    append: ir.Value | None = None,
) -> ir.Value:
    if n == 0:
        return x
    axis = dim % op.rank(x)
    pieces = [piece for piece in (prepend, x, append) if piece is not None]
    joined: Any = op.Concat(*pieces, axis=axis) if len(pieces) > 1 else x
    size = op.shape(joined)[axis]
    if isinstance(size, int):  # nothing is left after as many steps, and stays so
        n = min(n, size)
    for _ in range(n):
        later = op.Slice(joined, [1], [torch.iinfo(torch.int64).max], [axis])
        earlier = op.Slice(joined, [0], [-1], [axis])
        sizes = op.shape(joined)
        shape = (*sizes[:axis], sizes[axis] - 1, *sizes[axis + 1 :])
        later, earlier = op.describe(later, shape), op.describe(earlier, shape)
        truth = op.dtype(x) is torch.bool
        joined = op.Xor(later, earlier) if truth else call(op, "Sub", later, earlier)
    return joined
