"""Several tensors into one: cat, stack, pad_sequence and their kin, and the grids made of several."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import most
from onnxpert.lower.aten.padding import padded
from onnxpert.lower.aten.reshaping import atleast_1d, atleast_2d, atleast_3d, is_zero, spread
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten


def joined(op: Emitter, tensors: Sequence[ir.Value], axis: int) -> ir.Value:
    """The tensors one after the other, in their common dtype."""
    dtype = op.result_type(*tensors)
    parts = [op.cast(x, dtype) for x in tensors]
    return parts[0] if len(parts) == 1 else op.Concat(*parts, axis=axis)


def _is_nothing(op: Emitter, x: ir.Value) -> bool:
    """The empty list of old: torch lets a tensor of shape [0] stand beside any other."""
    sizes = op.shape(x)
    return len(sizes) == 1 and is_zero(sizes[0])


@lowering(aten.cat.default, aten.concat.default, aten.concatenate.default)
def cat(op: Emitter, tensors: Sequence[ir.Value], dim: int = 0) -> ir.Value:
    dtype = op.result_type(*tensors)
    parts = [x for x in tensors if not _is_nothing(op, x)] or list(tensors[:1])
    return joined(op, [op.cast(x, dtype) for x in parts], dim % max(op.rank(parts[0]), 1))


@lowering(aten.stack.default, aten._stack.default)
def stack(op: Emitter, tensors: Sequence[ir.Value], dim: int = 0) -> ir.Value:
    axis = dim % (op.rank(tensors[0]) + 1)
    return joined(op, [op.unsqueeze(x, axis) for x in tensors], axis)


@lowering(aten.hstack.default)
def hstack(op: Emitter, tensors: Sequence[ir.Value]) -> ir.Value:
    parts = [atleast_1d(op, x) for x in tensors]
    return joined(op, parts, 0 if op.rank(parts[0]) == 1 else 1)


@lowering(aten.vstack.default, aten.row_stack.default)
def vstack(op: Emitter, tensors: Sequence[ir.Value]) -> ir.Value:
    return joined(op, [_rows(op, x) for x in tensors], 0)


@lowering(aten.dstack.default)
def dstack(op: Emitter, tensors: Sequence[ir.Value]) -> ir.Value:
    return joined(op, [atleast_3d(op, x) for x in tensors], 2)


@lowering(aten.column_stack.default)
def column_stack(op: Emitter, tensors: Sequence[ir.Value]) -> ir.Value:
    columns = [x if op.rank(x) > 1 else op.reshape(x, (product(op.shape(x)), 1)) for x in tensors]
    return joined(op, columns, 1)


def _rows(op: Emitter, x: ir.Value) -> ir.Value:
    return x if op.rank(x) >= 2 else atleast_2d(op, x)


@lowering(aten.block_diag.default)
def block_diag(op: Emitter, tensors: Sequence[ir.Value]) -> ir.Value:
    dtype = op.result_type(*tensors)
    blocks = [op.cast(_rows(op, x), dtype) for x in tensors]
    widths = [op.shape(block)[1] for block in blocks]
    rows = []
    for place, block in enumerate(blocks):
        left, right = sum(widths[:place]), sum(widths[place + 1 :])
        rows.append(padded(op, block, [(0, 0), (left, right)]))
    return rows[0] if len(rows) == 1 else op.Concat(*rows, axis=0)


@lowering(aten.pad_sequence.default)
def pad_sequence(
    op: Emitter,
    sequences: Sequence[ir.Value],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> ir.Value:
    """Each filled up to the longest, which the data may decide."""
    lengths = [op.shape(x)[0] for x in sequences]
    longest = functools.reduce(most, lengths)
    filled = []
    for x, length in zip(sequences, lengths, strict=True):
        missing = longest - length
        ends = (missing, 0) if padding_side == "left" else (0, missing)
        borders = [ends, *[(0, 0)] * (op.rank(x) - 1)]
        filled.append(padded(op, x, borders, value=padding_value))
    return stack(op, filled, 0 if batch_first else 1)


# ---- grids ---------------------------------------------------------------------------------


def grids(op: Emitter, tensors: Sequence[ir.Value]) -> list[ir.Value]:
    """Each tensor along its own dimension, broadcast along those of the others."""
    lengths: list[Size] = [product(op.shape(x)) for x in tensors]
    result = []
    for axis, x in enumerate(tensors):
        sizes = [length if i == axis else 1 for i, length in enumerate(lengths)]
        result.append(spread(op, op.reshape(x, sizes), lengths))
    return result


@lowering(aten.meshgrid.default, aten.meshgrid.indexing)
def meshgrid(op: Emitter, tensors: Sequence[ir.Value], *, indexing: str = "ij") -> Any:
    if indexing == "ij" or len(tensors) < 2:
        return tuple(grids(op, tensors))
    first, second, *rest = tensors
    y, x, *others = grids(op, [second, first, *rest])
    return (x, y, *others)


@lowering(aten.cartesian_prod.default)
def cartesian_prod(op: Emitter, tensors: Sequence[ir.Value]) -> ir.Value:
    if len(tensors) == 1:
        return tensors[0]
    total = product([product(op.shape(x)) for x in tensors])
    return joined(op, [op.reshape(x, (total, 1)) for x in grids(op, tensors)], 1)


@lowering(aten.combinations.default)
def combinations(op: Emitter, x: ir.Value, r: int = 2, with_replacement: bool = False) -> ir.Value:
    count = concrete(op.shape(x)[0])
    if not isinstance(count, int):
        raise Refusal("the number of elements to combine is not a constant")
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(pick(range(count), r))
    if not rows or not r:
        return op.const(torch.empty((0, r) if r else (0,), dtype=op.dtype(x)))
    return op.Gather(x, op.const(rows, torch.int64), axis=0)
