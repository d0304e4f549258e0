"""Numbers in a row: ranges, and evenly spaced numbers and powers."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.operands import call
from onnxpert.lower.symbols import Size, concrete

aten = torch.ops.aten
Operand = Any  # ir.Value | Scalar
_LARGEST = 1 << 16  # elements of a constant; a longer range is left to the runtime


@lowering(aten.arange.default)
def arange(op: Emitter, end: Operand, dtype: torch.dtype | None = None) -> ir.Value:
    return _range(op, 0, end, 1, dtype)


@lowering(aten.arange.start)
def arange_start(
    op: Emitter, start: Operand, end: Operand, dtype: torch.dtype | None = None
) -> ir.Value:
    return _range(op, start, end, 1, dtype)


@lowering(aten.arange.start_step)
def arange_start_step(
    op: Emitter, start: Operand, end: Operand, step: Operand = 1, dtype: torch.dtype | None = None
) -> ir.Value:
    return _range(op, start, end, step, dtype)


@lowering(aten.range.default, aten.range.step)
def range_(
    op: Emitter, start: Operand, end: Operand, step: Operand = 1, dtype: torch.dtype | None = None
) -> ir.Value:
    """With its end in it: `arange` up to the next step."""
    if dtype is None and op.out is not None:
        dtype = op.out.dtype
    if not all(isinstance(value, (int, float)) for value in map(_plain, (start, end, step))):
        raise Refusal("a range with its end in it needs bounds that are known")
    return op.const(aten.range.step(start, end, step, dtype=dtype))


def _range(
    op: Emitter, start: Operand, end: Operand, step: Operand, dtype: torch.dtype | None
) -> ir.Value:
    start, end, step = map(_plain, (start, end, step))
    whole = all(_is_whole(op, value) for value in (start, end, step))
    dtype = dtype or (torch.int64 if whole else torch.get_default_dtype())
    if all(isinstance(value, (int, float)) for value in (start, end, step)):
        values = torch.arange(start, end, step, dtype=dtype)
        if values.numel() <= _LARGEST:
            return op.const(values)
    if whole:
        return op.cast(_described(op, _whole(op, start, end, step)), dtype)
    return _fractional(op, start, end, step, dtype)


def _whole(op: Emitter, start: Operand, end: Operand, step: Operand) -> ir.Value:
    """ONNX Runtime makes a slice of a gather from a range, and to a slice -1 is the last element:
    what may be negative is no bound of the range itself."""
    first, last, by = (op.scalar(value, torch.int64) for value in (start, end, step))
    if not isinstance(step, int) or step < 0:
        return op.Neg(op.Range(op.Neg(first), op.Neg(last), op.Neg(by)))
    if not isinstance(start, int) or start < 0:
        return op.Add(first, op.Range(op.scalar(0, torch.int64), op.Sub(last, first), by))
    return op.Range(first, last, by)


def _fractional(
    op: Emitter, start: Operand, end: Operand, step: Operand, dtype: torch.dtype
) -> ir.Value:
    """start + i * step: runtimes that add the step again and again drift away."""
    first, last, by = (op.scalar(value, torch.float64) for value in (start, end, step))
    count = op.cast(op.Ceil(op.Div(op.Sub(last, first), by)), torch.int64)
    index = op.Range(op.scalar(0, torch.int64), count, op.scalar(1, torch.int64))
    index = op.cast(_described(op, index), torch.float64)
    return op.cast(op.Add(op.Mul(index, by), first), dtype)


def _described(op: Emitter, value: ir.Value) -> ir.Value:
    return value if op.out is None else op.describe(value, tuple(op.out.shape))


def _plain(value: Operand) -> Operand:
    return concrete(value)


def _is_whole(op: Emitter, value: Operand) -> bool:
    if isinstance(value, ir.Value):
        return not op.dtype(value).is_floating_point
    return isinstance(value, (int, torch.SymInt))


@lowering(
    aten.linspace.default,
    aten.linspace.Tensor_Tensor,
    aten.linspace.Tensor_Scalar,
    aten.linspace.Scalar_Tensor,
)
def linspace(
    op: Emitter, start: Operand, end: Operand, steps: Size, dtype: torch.dtype | None = None
) -> ir.Value:
    dtype = dtype or torch.get_default_dtype()
    steps = concrete(steps)
    if _known(start, end, steps):
        return op.const(torch.linspace(start, end, steps, dtype=dtype))
    return op.cast(_spaced(op, start, end, steps, dtype), dtype)


def _known(start: Operand, end: Operand, steps: Size) -> bool:
    numbers = all(isinstance(value, (int, float)) for value in (start, end))
    return numbers and isinstance(steps, int) and steps <= _LARGEST


def _spaced(op: Emitter, start: Operand, end: Operand, steps: Size, dtype: torch.dtype) -> ir.Value:
    """Counted from the nearer end, so that both ends are exact, as torch does."""
    real = dtype if dtype.is_floating_point else torch.float64
    first, last = (op.scalar(value, real) for value in (start, end))
    count = op.scalar(steps, torch.int64)
    index = op.Range(op.scalar(0, torch.int64), count, op.scalar(1, torch.int64))
    index = _described(op, index)
    gaps = op.cast(op.Max(op.Sub(count, 1), 1), real)
    by = op.Div(op.Sub(last, first), gaps)
    ahead = op.Add(first, op.Mul(by, op.cast(index, real)))
    left = op.cast(op.Sub(op.Sub(count, 1), index), real)
    behind = op.Sub(last, op.Mul(by, left))
    near = op.Less(index, op.Div(op.Add(count, 1), 2))
    return op.Where(near, ahead, behind)


@lowering(
    aten.logspace.default,
    aten.logspace.Tensor_Tensor,
    aten.logspace.Tensor_Scalar,
    aten.logspace.Scalar_Tensor,
)
def logspace(
    op: Emitter,
    start: Operand,
    end: Operand,
    steps: Size,
    base: float = 10.0,
    dtype: torch.dtype | None = None,
) -> ir.Value:
    dtype = dtype or torch.get_default_dtype()
    steps = concrete(steps)
    if _known(start, end, steps):
        return op.const(torch.logspace(start, end, steps, base=base, dtype=dtype))
    powers = _spaced(op, start, end, steps, dtype)
    return op.cast(call(op, "Pow", op.scalar(base, op.dtype(powers)), powers), dtype)
