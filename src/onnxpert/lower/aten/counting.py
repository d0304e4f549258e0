"""Counting: the smaller of two sizes, and the positions that windows and diagonals are gathered at."""

from __future__ import annotations

from collections.abc import Sequence

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.symbols import Size, concrete, may_be_zero


def least(a: Size, b: Size) -> Size:
    """The smaller one, without asking a symbol which it is."""
    if isinstance(a, int) and isinstance(b, int):
        return min(a, b)
    return torch.sym_min(a, b)  # type: ignore[no-untyped-call]


def most(a: Size, b: Size) -> Size:
    if isinstance(a, int) and isinstance(b, int):
        return max(a, b)
    return torch.sym_max(a, b)  # type: ignore[no-untyped-call]


def count(op: Emitter, size: Size, *, start: Size = 0, step: Size = 1) -> ir.Value:
    """`start, start + step, ...`: `size` numbers."""
    if may_be_zero(step):  # which Range refuses
        steps = op.Mul(count(op, size), op.scalar(concrete(step), torch.int64))
        return op.Add(steps, op.scalar(concrete(start), torch.int64))
    bounds = (
        op.scalar(concrete(place), torch.int64) for place in (start, start + size * step, step)
    )
    return op.describe(op.Range(*bounds), (size,))


def grid(op: Emitter, sizes: Sequence[Size], steps: Sequence[Size], start: Size = 0) -> ir.Value:
    """The sum of a count along every dimension: where elements lie, given their strides."""
    if not sizes:
        return op.scalar(concrete(start), torch.int64)
    total: ir.Value | None = None
    for axis, (size, step) in enumerate(zip(sizes, steps, strict=True)):
        own = count(op, size, step=step)
        own = op.reshape(own, [size if i == axis else 1 for i in range(len(sizes))])
        total = own if total is None else op.Add(total, own)
    assert total is not None
    if isinstance(start, int) and start == 0:
        return total
    return op.Add(total, op.scalar(concrete(start), torch.int64))
