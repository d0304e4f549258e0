"""Constants of a model: which dtype a Python value takes, what it is as an array, what it is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx_ir as ir
import torch

from onnxpert.lower import folding
from onnxpert.lower.dtypes import python_kind


def natural_dtype(value: Any) -> torch.dtype:
    first = value
    while isinstance(first, (list, tuple)):
        if not first:
            return torch.int64
        first = next((item for item in first if isinstance(item, float)), first[0])
    return python_kind(first)


def as_tensor(value: Any, dtype: torch.dtype) -> torch.Tensor:
    if dtype.is_floating_point or dtype is torch.bool or dtype.is_complex:
        return torch.tensor(value, dtype=dtype)
    try:
        return torch.tensor(value, dtype=dtype)
    except (RuntimeError, TypeError, ValueError, OverflowError):
        return torch.tensor(value).to(dtype)


def array_of(value: ir.Value | None) -> Any:
    if value is None or value.const_value is None or value.const_value.size > folding.LARGEST:
        return None
    if value.meta.get("weight"):  # stays in the file as the state dict has it
        return None
    return value.const_value.numpy()


def constant_name(tensor: ir.TensorProtocol) -> str:
    kind = tensor.dtype.name.lower()
    if tensor.size > 6:
        return f"const_{kind}"
    items = [str(item) for item in np.asarray(tensor.numpy()).reshape(-1).tolist()]
    text = "_".join(item.replace("-", "m").replace(".", "p").replace("+", "") for item in items)
    return f"{kind}_{text}" if len(text) <= 24 else f"const_{kind}"
