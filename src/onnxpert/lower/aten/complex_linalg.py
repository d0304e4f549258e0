"""Linear algebra of complex matrices, as real ones of twice the size."""

# ruff: noqa: N803  parameters are named as ATen's schemas name them

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linalg_elimination import is_vector, linalg_inv_ex, linalg_solve_parts
from onnxpert.lower.aten.linear import swapped
from onnxpert.lower.complex_pairs import Parts, pair, promoted, zeros
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


def _doubled(op: Emitter, x: Parts) -> ir.Value:
    """The real matrix that multiplies as the complex one does: [[re, -im], [im, re]]."""
    re, im = x
    im = zeros(op, re) if im is None else im
    rank = op.rank(re)
    above = op.Concat(re, op.Neg(im), axis=rank - 1)
    below = op.Concat(im, re, axis=rank - 1)
    return op.Concat(above, below, axis=rank - 2)


def _stacked(op: Emitter, x: Parts) -> ir.Value:
    re, im = x
    return op.Concat(re, zeros(op, re) if im is None else im, axis=op.rank(re) - 2)


def _unstacked(op: Emitter, x: ir.Value) -> ir.Value:
    """The upper half of the rows is the real part."""
    height = op.shape(x)[-2] // 2
    return pair(op, *op.split(x, [height, height], op.rank(x) - 2))


def _each(x: Parts, change: Callable[[ir.Value], ir.Value]) -> Parts:
    re, im = x
    return change(re), None if im is None else change(im)


@lowering(aten.linalg_inv_ex.default, complex=True)
def inv_ex(op: Emitter, A: ir.Value, check_errors: bool = False) -> tuple[ir.Value, ir.Value]:
    (own,) = promoted(op, A)
    size = op.shape(A)[-1]
    inverse, info = linalg_inv_ex(op, _doubled(op, own))
    left, _ = op.split(inverse, [size, size], op.rank(inverse) - 1)
    return _unstacked(op, left), info


@lowering(aten.linalg_inv.default, aten.inverse.default, complex=True)
def inv(op: Emitter, A: ir.Value) -> ir.Value:
    return inv_ex(op, A)[0]


@lowering(aten.linalg_solve_ex.default, complex=True)
def solve_ex(
    op: Emitter, A: ir.Value, B: ir.Value, left: bool = True, check_errors: bool = False
) -> tuple[Any, Any]:
    vector = is_vector(op, A, B)
    a, b = promoted(op, A, B)
    if vector:
        b = _each(b, lambda part: op.unsqueeze(part, op.rank(part)))
    elif not left:  # X A = B is A' X' = B', none of them conjugated
        a, b = (_each(both, lambda part: swapped(op, part)) for both in (a, b))
    result, _, _, info = linalg_solve_parts(op, _doubled(op, a), _stacked(op, b))
    height = op.shape(result)[-2] // 2
    halves = op.split(result, [height, height], op.rank(result) - 2)
    if vector:
        halves = tuple(op.squeeze(each, op.rank(each) - 1) for each in halves)
    elif not left:
        halves = tuple(swapped(op, each) for each in halves)
    return pair(op, *halves), info


@lowering(aten.linalg_solve.default, complex=True)
def solve(op: Emitter, A: ir.Value, B: ir.Value, left: bool = True) -> Any:
    return solve_ex(op, A, B, left)[0]
