"""Sparse tensors that a model makes of places and values: the same matrix with its zeros written out.

ONNX has no sparse layout. Where such a tensor is only multiplied, turned or made dense, nothing but
the memory that it takes tells it from a dense one."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

Tensor = torch.Tensor


class WrittenOut(TorchFunctionMode):
    """While on, `torch.sparse_coo_tensor` of a known size is dense, and so is what is made of it."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func is torch.sparse_coo_tensor:
            made = _made(*args, **given)
            if made is not None:
                return made
        if func is torch.sparse.mm and len(args) == 2 and not given and _are_dense(args):
            return torch.mm(*args)
        return func(*args, **given)


def _made(
    indices: Any = None, values: Any = None, size: Any = None, dtype: Any = None, **_: Any
) -> Tensor | None:
    """None where the places are no tensor, or the data say how large it is."""
    if not isinstance(indices, Tensor) or not isinstance(values, Tensor) or size is None:
        return None
    values = values if dtype is None else values.to(dtype)
    places = indices.long().unbind(0)
    empty = torch.zeros(tuple(size), dtype=values.dtype, device=values.device)
    return empty.index_put(places, values, accumulate=True)


def _are_dense(tensors: Any) -> bool:
    return all(isinstance(one, Tensor) and one.layout is torch.strided for one in tensors)
