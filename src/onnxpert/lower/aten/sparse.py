"""Sparse weights, which a file holds with their zeros written out: what is made of them is dense."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.aten.linear import addmm
from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(aten.to_dense.default, aten._to_dense.default)
def to_dense(
    op: Emitter,
    self: ir.Value,
    dtype: torch.dtype | None = None,
    *,
    masked_grad: bool | None = None,
) -> ir.Value:
    return self if dtype is None else op.cast(self, dtype)


@lowering(aten._sparse_addmm.default)
def sparse_addmm(
    op: Emitter, self: ir.Value, mat1: ir.Value, mat2: ir.Value, beta: Any = 1, alpha: Any = 1
) -> ir.Value:
    return addmm(op, self, mat1, mat2, beta, alpha)
