"""Products of groups of rows, each with a matrix of its own: mixtures of experts."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering
from onnxpert.lower.symbols import is_static

aten = torch.ops.aten


# transformers' own operator, whose body loops over values: named, since it may not be imported.
@lowering(aten._grouped_mm.default, "transformers::grouped_mm_fallback")
def grouped_mm(
    op: Emitter,
    input: ir.Value,
    weight: ir.Value,
    offs: ir.Value | None = None,
    bias: ir.Value | None = None,
    out_dtype: torch.dtype | None = None,
) -> ir.Value:
    """Rows `offs[i-1]` to `offs[i]` of the input with matrix i; rows after the last are zero."""
    if offs is None or bias is not None or op.rank(input) != 2 or op.rank(weight) != 3:
        raise Refusal("only two-dimensional rows, sorted by group, against a stack of matrices")
    groups, _, width = op.shape(weight)
    if not is_static(groups):
        raise Refusal("the number of groups is not fixed")
    ends = op.cast(offs, torch.int64)
    axis = op.const([0], torch.int64)
    bounds = [op.const([0], torch.int64)]
    bounds += [op.Gather(ends, op.const([group], torch.int64), axis=0) for group in range(groups)]
    pieces = []
    for group in range(groups):
        rows = op.Slice(input, bounds[group], bounds[group + 1], axis)
        matrix = op.Gather(weight, op.const(group, torch.int64), axis=0)
        pieces.append(op.MatMul(rows, matrix))
    rest = op.Sub(op.ints([op.shape(input)[0]]), bounds[-1])
    zeros = op.Expand(op.const(0, op.dtype(input)), op.Concat(rest, op.ints([width]), axis=0))
    result = op.Concat(*pieces, zeros, axis=0)
    return op.cast(result, out_dtype or op.dtype(input))
