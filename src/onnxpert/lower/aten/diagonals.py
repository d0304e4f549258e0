"""Diagonals taken out of matrices, and put into them."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.counting import count, grid, least, most
from onnxpert.lower.aten.padding import padded
from onnxpert.lower.aten.permuting import moved
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import chosen, reduced
from onnxpert.lower.shapes import product
from onnxpert.lower.symbols import Size

aten = torch.ops.aten


def _length(rows: Size, columns: Size, offset: int) -> Size:
    """How long a diagonal is; negative offsets start further down, positive ones to the right."""
    a, b = (rows + offset, columns) if offset < 0 else (rows, columns - offset)
    return most(least(a, b), 0)


def taken(op: Emitter, x: ir.Value, offset: int, dim1: int, dim2: int) -> ir.Value:
    """The diagonal over two dimensions, as the last one."""
    last = moved(op, x, [dim1, dim2], [-2, -1])
    *batch, rows, columns = op.shape(last)
    start = offset if offset >= 0 else -offset * columns
    places = count(op, _length(rows, columns, offset), start=start, step=columns + 1)
    return op.Gather(op.reshape(last, (*batch, rows * columns)), places, axis=len(batch))


@lowering(aten.diagonal.default, aten.diagonal_copy.default)
def diagonal(op: Emitter, x: ir.Value, offset: int = 0, dim1: int = 0, dim2: int = 1) -> ir.Value:
    return taken(op, x, offset, dim1, dim2)


@lowering(aten.linalg_diagonal.default)
def linalg_diagonal(
    op: Emitter, x: ir.Value, *, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> ir.Value:
    return taken(op, x, offset, dim1, dim2)


@lowering(aten.trace.default)
def trace(op: Emitter, x: ir.Value) -> ir.Value:
    found = taken(op, x, 0, 0, 1)
    if not op.dtype(x).is_floating_point:
        found = op.cast(found, torch.int64)
    return reduced(op, "ReduceSum", found, [0], False)


# ---- into a matrix -------------------------------------------------------------------------


def _on_diagonal(op: Emitter, rows: Size, columns: Size, offset: int) -> ir.Value:
    row = op.unsqueeze(count(op, rows), 1)
    column = op.unsqueeze(count(op, columns, start=-offset), 0)
    return op.Equal(row, column)


def _beside(op: Emitter, x: ir.Value, rows: Size, offset: int) -> ir.Value:
    """The elements of a diagonal beside the rows they stand in."""
    *batch, length = op.shape(x)
    above = max(-offset, 0)
    tall = padded(op, x, [(0, 0)] * len(batch) + [(above, rows - length - above)])
    return op.unsqueeze(tall, len(batch) + 1)


def embedded(op: Emitter, x: ir.Value, offset: int, dim1: int, dim2: int) -> ir.Value:
    """Matrices with `x` on a diagonal and nothing else."""
    size = op.shape(x)[-1] + abs(offset)
    nothing = op.scalar(0, op.dtype(x))
    mask = _on_diagonal(op, size, size, offset)
    matrices = chosen(op, mask, _beside(op, x, size, offset), nothing)
    return moved(op, matrices, [-2, -1], [dim1, dim2])


@lowering(aten.diag_embed.default)
def diag_embed(
    op: Emitter, x: ir.Value, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> ir.Value:
    return embedded(op, x, offset, dim1, dim2)


@lowering(aten.diag.default)
def diag(op: Emitter, x: ir.Value, diagonal: int = 0) -> ir.Value:
    if op.rank(x) == 1:
        return embedded(op, x, diagonal, -2, -1)
    return taken(op, x, diagonal, 0, 1)


@lowering(aten.diagflat.default)
def diagflat(op: Emitter, x: ir.Value, offset: int = 0) -> ir.Value:
    return embedded(op, op.reshape(x, (product(op.shape(x)),)), offset, -2, -1)


@lowering(aten.diagonal_scatter.default)
def diagonal_scatter(
    op: Emitter, x: ir.Value, src: ir.Value, offset: int = 0, dim1: int = 0, dim2: int = 1
) -> ir.Value:
    last = moved(op, x, [dim1, dim2], [-2, -1])
    rows, columns = op.shape(last)[-2:]
    source = _beside(op, op.cast(src, op.dtype(x)), rows, offset)
    written = chosen(op, _on_diagonal(op, rows, columns, offset), source, last)
    return moved(op, written, [-2, -1], [dim1, dim2])


# There is no form of it that does not write: the walk takes this result for what was written.
@lowering(aten.fill_diagonal_.default)
def fill_diagonal(op: Emitter, x: ir.Value, fill_value: Any, wrap: bool = False) -> ir.Value:
    if op.rank(x) != 2:
        raise Refusal("the diagonal of a tensor of more than two dimensions is filled")
    rows, columns = op.shape(x)
    mask = _on_diagonal(op, rows, columns, 0)
    if wrap:
        flat = grid(op, (rows, columns), (columns, 1))
        mask = op.Equal(op.Mod(flat, op.scalar(columns + 1, torch.int64)), 0)
    return chosen(op, mask, op.scalar(fill_value, op.dtype(x)), x)
