"""Diagonals and triangles of matrices."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import chosen, native
from onnxpert.lower.symbols import Size, concrete, is_static

aten = torch.ops.aten
_LARGEST = 1 << 16  # elements of a constant


@lowering(aten.tril.default)
def tril(op: Emitter, x: ir.Value, diagonal: Size = 0) -> ir.Value:
    return _triangle(op, x, diagonal, upper=False)


@lowering(aten.triu.default)
def triu(op: Emitter, x: ir.Value, diagonal: Size = 0) -> ir.Value:
    return _triangle(op, x, diagonal, upper=True)


def _triangle(op: Emitter, x: ir.Value, diagonal: Size, *, upper: bool) -> ir.Value:
    dtype = op.dtype(x)
    if op.opset < 14:
        return chosen(op, _mask(op, x, diagonal, upper), x, op.scalar(0, dtype))
    wide = native(op, "Trilu", dtype)
    kept = op.Trilu(op.cast(x, wide), op.scalar(diagonal, torch.int64), upper=int(upper))
    return op.cast(kept, dtype)


def _mask(op: Emitter, x: ir.Value, diagonal: Size, upper: bool) -> ir.Value:
    rows, columns = op.shape(x)[-2:]
    row = op.unsqueeze(_count(op, rows), 1)
    edge = op.Add(row, op.scalar(diagonal, torch.int64))
    column = _count(op, columns)
    return op.GreaterOrEqual(column, edge) if upper else op.LessOrEqual(column, edge)


def _count(op: Emitter, size: Size) -> ir.Value:
    bounds = (op.scalar(value, torch.int64) for value in (0, size, 1))
    return op.describe(op.Range(*bounds), (size,))


@lowering(aten.eye.default)
def eye(op: Emitter, n: Size, dtype: torch.dtype | None = None) -> ir.Value:
    return eye_m(op, n, n, dtype)


@lowering(aten.eye.m)
def eye_m(op: Emitter, n: Size, m: Size, dtype: torch.dtype | None = None) -> ir.Value:
    dtype = dtype or torch.get_default_dtype()
    n, m = concrete(n), concrete(m)
    if is_static(n, m) and n * m <= _LARGEST:
        return op.const(torch.eye(n, m, dtype=dtype))
    return op.cast(op.Equal(op.unsqueeze(_count(op, n), 1), _count(op, m)), dtype)


@lowering(aten.tril_indices.default)
def tril_indices(
    op: Emitter, row: int, col: int, offset: int = 0, dtype: torch.dtype | None = None
) -> ir.Value:
    return op.const(torch.tril_indices(row, col, offset, dtype=dtype or torch.int64))


@lowering(aten.triu_indices.default)
def triu_indices(
    op: Emitter, row: int, col: int, offset: int = 0, dtype: torch.dtype | None = None
) -> ir.Value:
    return op.const(torch.triu_indices(row, col, offset, dtype=dtype or torch.int64))
