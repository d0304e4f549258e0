"""What needs no node: a value to which nothing is done, and a result that is a constant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import onnx_ir as ir
import torch

from onnxpert.lower import folding
from onnxpert.lower.constants import array_of
from onnxpert.lower.dtypes import TO_TORCH

Result = ir.Value | torch.Tensor | folding.Array


def shortcut(
    op_type: str, values: Sequence[ir.Value | None], attributes: Mapping[str, Any]
) -> Result | None:
    """The value itself, or the constant that comes out; None when a node has to do it."""
    first = values[0] if values else None
    if first is not None and _does_nothing(op_type, first, attributes):
        return first
    arrays = [array_of(value) for value in values]
    if not arrays or any(a is None and v is not None for a, v in zip(arrays, values, strict=True)):
        return None
    if op_type == "Cast":
        return _cast(arrays[0], TO_TORCH[attributes["to"]])
    return folding.fold(op_type, arrays, attributes)


def _cast(array: folding.Array, dtype: torch.dtype) -> torch.Tensor | None:
    """torch does the cast, so that it rounds and wraps as torch does; it has no ml_dtypes."""
    known_to_torch = array.dtype.kind in "fiub" and array.dtype.str[1] != "V"
    return torch.from_numpy(array.copy()).to(dtype) if known_to_torch else None


def _does_nothing(op_type: str, value: ir.Value, attributes: Mapping[str, Any]) -> bool:
    if op_type == "Cast":
        return bool(value.dtype == attributes["to"])
    if op_type == "Transpose":
        order = list(attributes.get("perm", ()))
        return bool(order) and order == list(range(len(order)))
    return op_type == "Identity"
