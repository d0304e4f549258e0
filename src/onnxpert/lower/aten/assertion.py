"""Numbers read out of tensors, and what torch only checks while it captures."""

from __future__ import annotations

from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower.emitter import Emitter
from onnxpert.lower.lowering import lowering

aten = torch.ops.aten


@lowering(aten.item.default, aten._local_scalar_dense.default)
def item(op: Emitter, x: ir.Value) -> ir.Value:
    """A number as sizes and size arithmetic use it: int64 or float64, or a truth value."""
    dtype = op.dtype(x)
    wide = torch.float64 if dtype.is_floating_point else torch.int64
    return op.reshape(x if dtype is torch.bool else op.cast(x, wide), ())


@lowering(
    aten._assert_async.default,
    aten._assert_async.msg,
    aten._assert_scalar.default,
    aten._assert_tensor_metadata.default,
    aten.sym_constrain_range.default,
    aten.sym_constrain_range_for_size.default,
)
def checked(op: Emitter, *args: Any, **kwargs: Any) -> None:
    """Nothing to compute: an ONNX file cannot raise."""


@lowering(
    aten._functional_assert_async.msg,
    aten._functional_assert_scalar.default,
    aten._functional_sym_constrain_range.default,
    aten._functional_sym_constrain_range_for_size.default,
)
def passed_on(op: Emitter, *args: Any) -> ir.Value:
    """The same checks, which give back the token that puts them in order."""
    token: ir.Value = args[-1]
    return token
