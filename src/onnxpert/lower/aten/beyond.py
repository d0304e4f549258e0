"""Operators that no graph of dense tensors can stand for: why, in words a user understands."""

from __future__ import annotations

from typing import Any, NoReturn

import torch

from onnxpert.lower.emitter import Emitter, Refusal
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(
    aten.to_sparse.default,
    aten.to_sparse.sparse_dim,
    aten._to_sparse.default,
    aten._to_sparse.sparse_dim,
    aten.to_sparse_csr.default,
    aten.to_sparse_csc.default,
    aten.to_sparse_bsr.default,
    aten.to_sparse_bsc.default,
)
def to_sparse(op: Emitter, *args: Any, **kwargs: Any) -> NoReturn:
    raise Refusal("its result is sparse, and ONNX Runtime has dense tensors only")


@lowering(aten.resize_.default, aten.resize_as_.default)
def resize_(op: Emitter, *args: Any, **kwargs: Any) -> NoReturn:
    raise Refusal(
        "it changes the memory behind a tensor; reshape, or torch.nn.functional.pad, does not"
    )
