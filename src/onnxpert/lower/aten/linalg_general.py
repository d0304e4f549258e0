"""Eigenvalues of matrices that are not symmetric: only where there are none."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.complex_pairs import COMPLEX, constant
from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


def _nothing(op: Emitter, x: ir.Value) -> torch.dtype:
    """The dtype of the results, of which there are none."""
    if 0 not in op.shape(x):
        raise Refusal(
            "eigenvalues of a matrix that is not symmetric have the order in which LAPACK comes "
            "upon them, which no graph can follow; linalg.eigh is exported"
        )
    return COMPLEX.get(op.dtype(x), op.dtype(x))


@lowering(aten.linalg_eig.default, complex=True)
def linalg_eig(op: Emitter, self: ir.Value) -> tuple[Any, Any]:
    dtype, sizes = _nothing(op, self), op.shape(self)
    return tuple(constant(op, torch.empty(s, dtype=dtype)) for s in (sizes[:-1], sizes))  # type: ignore[return-value]


@lowering(aten.linalg_eigvals.default, aten._linalg_eigvals.default, complex=True)
def linalg_eigvals(op: Emitter, self: ir.Value) -> Any:
    return constant(op, torch.empty(op.shape(self)[:-1], dtype=_nothing(op, self)))
