"""Sparse tensors that a model has, or makes of places and values: the same matrix with its zeros written out.

ONNX has no sparse layout. Where such a tensor is only multiplied, turned or made dense, nothing but
the memory that it takes tells it from a dense one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from onnxpert.capture.detour import Call, detour

Tensor = torch.Tensor
# What is the same of two dense tensors, by torch's own function for those.
_PLAIN: Mapping[Any, Callable[..., Any]] = {
    torch.sparse.mm: torch.mm,
    torch.sparse.addmm: torch.addmm,
    torch._sparse_sum: torch.sum,  # what torch.sparse.sum calls
    torch.smm: torch.mm,
}
_PRODUCTS = (
    torch.sparse.mm, torch.sparse.addmm, torch.smm, torch.mm, torch.mv, torch.matmul, torch.addmm,
    Tensor.mm, Tensor.mv, Tensor.matmul, Tensor.__matmul__, Tensor.addmm,
)  # fmt: skip


@detour(torch.sparse_coo_tensor)
def written_out(call: Call) -> Any:
    """One of a known size is dense, and so is what is made of it."""
    made = _made(*call.args, **call.kwargs)
    return NotImplemented if made is None else made


@detour(*_PLAIN)
def computed(call: Call) -> Any:
    dense = _are_dense([*call.args, *call.kwargs.values()])
    return _PLAIN[call.func](*call.args, **call.kwargs) if dense else NotImplemented


@detour(*_PRODUCTS)
def multiplied(call: Call) -> Any:
    """A sparse weight with a dense tensor, which gives a dense one: torch's stand-ins for sparse
    tensors know no sizes that vary."""
    values = (*call.args, *call.kwargs.values())
    layouts = {one.layout for one in values if isinstance(one, Tensor)}
    if len(layouts) < 2 or torch.strided not in layouts:
        return NotImplemented
    args = [_dense(one) for one in call.args]
    kwargs = {name: _dense(one) for name, one in call.kwargs.items()}
    return _PLAIN.get(call.func, call.func)(*args, **kwargs)


def _dense(one: Any) -> Any:
    is_sparse = isinstance(one, Tensor) and one.layout is not torch.strided
    return one.to_dense() if is_sparse else one


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


def _are_dense(values: Any) -> bool:
    """Whether there are no tensors in another layout, and no words: how `torch.sparse.mm` reduces."""
    return all(
        one.layout is torch.strided if isinstance(one, Tensor) else not isinstance(one, str)
        for one in values
    )
