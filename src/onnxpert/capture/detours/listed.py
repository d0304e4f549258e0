"""Tensors made of sizes, or of the elements of others: `torch.tensor([h, w])` and `torch.tensor([a.sum(), 2])`
stay open, where torch would take numbers for them.

torch reads the data of a new tensor as numbers before any operator is called. `scalar_tensor` takes a
symbol, so each is made a tensor of its own, and they are put together. Taken apart again
(`for h, w in shapes`), each is still known to be that size."""

from __future__ import annotations

import functools
import operator
from collections.abc import Iterator
from typing import Any

import torch

from onnxpert.capture.detour import Call, detour
from onnxpert.capture.guards import keep_in_mind
from onnxpert.capture.open_sizes.packed import KNOWN

_SYMBOLS = (torch.SymInt, torch.SymFloat, torch.SymBool)
_CONTENTS = "_onnxpert_contents"  # the numbers and symbols that a tensor was made of


@detour(torch.tensor, torch.as_tensor, torch.asarray)
def made_of_sizes(call: Call) -> Any:
    """A symbol in the data of a new tensor is no number."""
    data = call.args[0] if call.args else call.kwargs.get("data", call.kwargs.get("obj"))
    dtype = call.args[1] if len(call.args) > 1 else call.kwargs.get("dtype")
    return _made(data, dtype or _dtype(data)) if _has_symbol(data) else NotImplemented


@detour(torch.Tensor.new_tensor)
def made_alike(call: Call) -> Any:
    data = call.args[1] if len(call.args) > 1 else call.kwargs.get("data")
    dtype = call.kwargs.get("dtype", call.args[0].dtype)
    return _made(data, dtype) if _has_symbol(data) else NotImplemented


@detour(torch.unbind, torch.Tensor.unbind, torch.Tensor.__getitem__)
def taken_apart(call: Call) -> Any:
    """What is read off a tensor of sizes is known as well."""
    contents = getattr(call.args[0], _CONTENTS, None) if call.args else None
    if contents is None:
        return NotImplemented
    result, rest = call.plain(), call.args[1:]
    if call.func is torch.Tensor.__getitem__:
        index = rest[0] if isinstance(rest[0], tuple) else rest
        if all(type(each) is int for each in index):
            _remember(result, functools.reduce(operator.getitem, index, contents))
    elif not any(rest):
        for part, inner in zip(result, contents, strict=True):
            _remember(part, inner)
    return result


def _remember(tensor: torch.Tensor, contents: Any) -> None:
    if isinstance(contents, (list, tuple)):
        setattr(tensor, _CONTENTS, contents)
    elif isinstance(contents, torch.SymInt) and tensor.dtype is torch.int64:
        setattr(tensor, KNOWN, contents)


def _leaves(data: Any) -> Iterator[Any]:
    if isinstance(data, (list, tuple)):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def _has_symbol(data: Any) -> bool:
    """Whether sizes, or tensors in a list, are among numbers, and nothing else is."""
    leaves = list(_leaves(data))
    open_ = _SYMBOLS if not isinstance(data, (list, tuple)) else (*_SYMBOLS, torch.Tensor)
    numbers = all(isinstance(leaf, (int, float, *open_)) for leaf in leaves)
    single = all(not leaf.dim() for leaf in leaves if isinstance(leaf, torch.Tensor))
    return numbers and single and any(isinstance(leaf, open_) for leaf in leaves)


def _dtype(data: Any) -> torch.dtype:
    """As torch finds it: what all of them have room in."""
    return functools.reduce(torch.promote_types, map(_own_dtype, _leaves(data)))


def _own_dtype(leaf: Any) -> torch.dtype:
    if isinstance(leaf, torch.Tensor):
        return leaf.dtype
    if isinstance(leaf, (float, torch.SymFloat)):
        return torch.get_default_dtype()
    return torch.bool if isinstance(leaf, (bool, torch.SymBool)) else torch.int64


def _made(data: Any, dtype: torch.dtype) -> torch.Tensor:
    if isinstance(data, torch.Tensor):
        return data.detach().to(dtype)
    if isinstance(data, torch.SymBool):
        truth: Any = data
        if truth.node.expr.free_symbols and truth.node.has_hint():
            keep_in_mind(truth)
        return torch.scalar_tensor(truth, dtype=torch.bool).to(dtype)
    parts = isinstance(data, (list, tuple))
    made = (
        torch.stack([_made(item, dtype) for item in data])
        if parts
        else torch.scalar_tensor(data, dtype=dtype)
    )
    _remember(made, data)
    return made
