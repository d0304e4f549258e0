"""Packed sequences: time steps one after the other, each with the sequences that last so long."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


def _range(op: Emitter, count: ir.Value) -> ir.Value:
    return op.Range(op.const(0, torch.int64), count, op.const(1, torch.int64))


class Packing:
    """Where each element of a packed tensor lies in the padded one.

    `batch` is how many sequences there are, `batch_sizes` how many of them reach each step."""

    def __init__(self, op: Emitter, data: ir.Value, batch_sizes: ir.Value, batch: Size) -> None:
        self.op = op
        self.batch = batch
        self.rows: Size = op.shape(data)[0]
        self.steps: Size = op.shape(batch_sizes)[0]
        sizes = op.unsqueeze(batch_sizes, 1)
        place = op.describe(_range(op, op.scalar(batch, torch.int64)), (batch,))
        self.inside = op.Less(place, sizes)  # (steps, batch)
        before = op.CumSum(batch_sizes, op.const(0, torch.int64), exclusive=1)
        spot = op.Add(op.unsqueeze(before, 1), place)
        # Beyond its end a sequence reads some element; nobody looks at what comes of it.
        self.spots = op.Where(self.inside, spot, op.const(0, torch.int64))

    def padded(self, data: ir.Value) -> ir.Value:
        """(steps, batch, ...) from (rows, ...)."""
        return self.op.Gather(data, self.spots, axis=0)

    def lengths(self) -> ir.Value:
        """How long each sequence is, as the recurrent operators of ONNX want it."""
        counted = self.op.cast(self.inside, torch.int32)
        return self.op.reduce("ReduceSum", counted, [0], False)

    def packed(self, x: ir.Value) -> ir.Value:
        """(rows, ...) from (steps, batch, ...)."""
        op = self.op
        rest = op.shape(x)[2:]
        flat = op.reshape(x, (self.steps * self.batch, *rest))
        keep = op.reshape(self.inside, (self.steps * self.batch,))
        return op.describe(op.Compress(flat, keep, axis=0), (self.rows, *rest))


@lowering(aten._pack_padded_sequence.default)
def pack_padded_sequence(
    op: Emitter, input: ir.Value, lengths: ir.Value, batch_first: bool
) -> tuple[ir.Value, ir.Value]:
    x = op.Transpose(input, perm=[1, 0, *range(2, op.rank(input))]) if batch_first else input
    rest = op.shape(x)[2:]
    longest = op.reduce("ReduceMax", lengths, [0], False)
    time = op.unsqueeze(_range(op, longest), 1)
    inside = op.Less(time, lengths)  # lengths come in falling order
    batch_sizes = op.reduce("ReduceSum", op.cast(inside, torch.int64), [1], False)
    # Steps beyond the longest sequence are in the input, and in no packed one.
    cut = op.Slice(x, op.const([0], torch.int64), op.reshape(longest, (1,)), [0])
    flat = op.Reshape(cut, op.ints([-1, *rest]))
    return op.Compress(flat, op.Reshape(inside, [-1]), axis=0), batch_sizes


@lowering(aten._pad_packed_sequence.default)
def pad_packed_sequence(
    op: Emitter,
    data: ir.Value,
    batch_sizes: ir.Value,
    batch_first: bool,
    padding_value: Any,
    total_length: int,
) -> tuple[ir.Value, ir.Value]:
    first = op.Slice(batch_sizes, [0], [1], [0])
    count = op.squeeze(first, 0)
    place = _range(op, count)
    inside = op.Less(place, op.unsqueeze(batch_sizes, 1))
    before = op.CumSum(batch_sizes, op.const(0, torch.int64), exclusive=1)
    spots = op.Where(inside, op.Add(op.unsqueeze(before, 1), place), op.const(0, torch.int64))
    rest = op.shape(data)[1:]
    lengths = op.reduce("ReduceSum", op.cast(inside, torch.int64), [0], False)
    axes = [2 + axis for axis in range(len(rest))]
    shown = op.unsqueeze(inside, *axes) if axes else inside
    filler = op.const(padding_value, op.dtype(data))
    padded = op.Where(shown, op.Gather(data, spots, axis=0), filler)
    if isinstance(total_length, torch.SymInt) or total_length > 0:
        steps = op.Shape(batch_sizes)
        missing = op.Sub(op.ints([total_length]), steps)
        zeros = op.const([0] * (1 + len(rest)), torch.int64)
        none = op.const([0] * (2 + len(rest)), torch.int64)
        padded = op.Pad(padded, op.Concat(none, missing, zeros, axis=0), filler)
    if batch_first:
        padded = op.Transpose(padded, perm=[1, 0, *range(2, 2 + len(rest))])
    return padded, lengths
