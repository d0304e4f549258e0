"""Matrix products: linear, matmul and their kin."""

from __future__ import annotations

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(aten.linear.default)
def linear(op: Emitter, input: ir.Value, weight: ir.Value, bias: ir.Value | None = None) -> ir.Value:
    # The weight keeps the layout of the state dict; runtimes fold the transpose when they load.
    if op.rank(input) == 2 and op.rank(weight) == 2:
        return op.Gemm(input, weight, bias, transB=1)
    product = op.MatMul(input, op.Transpose(weight, perm=[1, 0]) if op.rank(weight) == 2 else weight)
    return product if bias is None else op.Add(product, bias)


@lowering(aten.matmul.default, aten.mm.default, aten.bmm.default, aten.mv.default, aten.dot.default)
def matmul(op: Emitter, a: ir.Value, b: ir.Value) -> ir.Value:
    return op.MatMul(a, b)
