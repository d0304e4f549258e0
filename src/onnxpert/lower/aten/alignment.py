"""The connectionist temporal classification loss: all alignments of a target with a sequence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count
from onnxpert.lower.aten.linalg_turns import turns
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten
_MEAN = 1


@lowering(aten.ctc_loss.IntList, aten.ctc_loss.Tensor)
def ctc_loss(
    op: Emitter,
    log_probs: ir.Value,
    targets: ir.Value,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = _MEAN,
    zero_infinity: bool = False,
) -> ir.Value:
    single = op.rank(log_probs) == 2
    if single:
        log_probs = op.unsqueeze(log_probs, 1)
    number, dtype = op.shape(log_probs)[1], op.dtype(log_probs)
    lengths, sizes = (
        op.reshape(op.cast(value, torch.int64), (number,))
        if isinstance(value, ir.Value)
        else op.ints(value)
        for value in (input_lengths, target_lengths)
    )
    labels = _padded(op, op.cast(targets, torch.int64), sizes, number)
    losses = _losses(op, log_probs, labels, lengths, sizes, blank)
    if zero_infinity:
        endless = op.Equal(losses, op.scalar(math.inf, dtype))
        losses = op.Where(endless, op.scalar(0.0, dtype), losses)
    if reduction == _MEAN:
        each = op.Div(losses, op.cast(op.Max(sizes, 1), dtype))
        return op.reduce("ReduceMean", each, [0], False)
    if reduction:
        return op.reduce("ReduceSum", losses, [0], False)
    return op.squeeze(losses, 0) if single else losses


def _padded(op: Emitter, targets: ir.Value, sizes: ir.Value, number: Any) -> ir.Value:
    """A row of labels for each sequence; what is behind its end is never looked at."""
    if op.rank(targets) == 2:
        return targets
    longest = op.shape(targets)[0]
    starts = op.CumSum(sizes, op.const(0, torch.int64), exclusive=1)
    places = op.Add(op.unsqueeze(starts, 1), count(op, longest))
    return op.Gather(targets, op.Min(places, op.scalar(longest - 1, torch.int64)), axis=0)


def _losses(
    op: Emitter,
    log_probs: ir.Value,
    labels: ir.Value,
    lengths: ir.Value,
    sizes: ir.Value,
    blank: int,
) -> ir.Value:
    time, number, _ = op.shape(log_probs)
    dtype, longest = op.dtype(log_probs), op.shape(labels)[1]
    states = 2 * longest + 1
    # A blank before every label and one at the end: (blank, label) pairs side by side.
    blanks = op.expand(op.const(blank, torch.int64), (number, longest, 1))
    pairs = op.Concat(blanks, op.unsqueeze(labels, 2), axis=2)
    last = op.expand(op.const(blank, torch.int64), (number, 1))
    ways = op.Concat(op.reshape(pairs, (number, 2 * longest)), last, axis=1)
    wide = op.expand(op.unsqueeze(ways, 0), (time, number, states))
    chances = op.GatherElements(log_probs, wide, axis=2)
    nothing = op.scalar(-math.inf, dtype)
    two_back = _shifted(op, ways, 2, op.const(blank, torch.int64))
    skips = op.And(op.Not(op.Equal(ways, blank)), op.Not(op.Equal(ways, two_back)))
    place = count(op, states)
    after = op.unsqueeze(op.Mul(sizes, 2), 1)
    open_first = op.And(op.LessOrEqual(place, 1), op.LessOrEqual(place, after))
    first = op.expand(op.const(0, torch.int64), ())
    start = op.Where(open_first, op.Gather(chances, first, axis=0), nothing)

    def step(body: Emitter, turn: ir.Value, carried: Sequence[ir.Value]) -> Sequence[ir.Value]:
        (before,) = carried
        now = body.Add(turn, 1)
        skipped = body.Where(skips, _shifted(body, before, 2, nothing), nothing)
        total = _log_sum(body, [before, _shifted(body, before, 1, nothing), skipped])
        new = body.Add(total, body.Gather(chances, now, axis=0))
        return [body.Where(body.Less(now, body.unsqueeze(lengths, 1)), new, before)]

    (end,) = turns(op, time - 1, [op.describe(start, (number, states))], step)
    both = [
        op.squeeze(op.GatherElements(end, op.Max(op.Sub(after, back), 0), axis=1), 1)
        for back in (0, 1)
    ]
    # A target of no labels has one way only.
    both[1] = op.Where(op.Equal(sizes, 0), nothing, both[1])
    result = op.Neg(_log_sum(op, both))
    # In no time nothing but nothing can be said.
    empty = op.Where(op.Equal(sizes, 0), op.scalar(0.0, dtype), op.scalar(math.inf, dtype))
    return op.Where(op.Equal(lengths, 0), empty, result)


def _shifted(op: Emitter, x: ir.Value, by: int, filler: ir.Value) -> ir.Value:
    """Each row moved to the right, the first places filled."""
    number, width = op.shape(x)
    filling = op.expand(filler, (number, by))
    moved = op.Slice(op.Concat(filling, x, axis=1), [0], [-by], [1])
    return op.describe(moved, (number, width))


def _log_sum(op: Emitter, terms: Sequence[ir.Value]) -> ir.Value:
    dtype = op.dtype(terms[0])
    top = op.Max(*terms)
    safe = op.Where(op.Equal(top, op.scalar(-math.inf, dtype)), op.scalar(0.0, dtype), top)
    total = op.Sum(*(op.Exp(op.Sub(term, safe)) for term in terms))
    return op.Add(op.Log(total), safe)
