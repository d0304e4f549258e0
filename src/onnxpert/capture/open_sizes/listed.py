"""Tensors made of sizes: `torch.tensor([h, w])` stays open, where torch would take numbers for them.

torch reads the data of a new tensor as numbers before any operator is called. `scalar_tensor` takes a
symbol, so each is made a tensor of its own, and they are put together. Taken apart again
(`for h, w in shapes`), each is still known to be that size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxpert.capture.open_sizes.packed import KNOWN

_SYMBOLS = (torch.SymInt, torch.SymFloat)
_MAKERS = frozenset({torch.tensor, torch.as_tensor, torch.asarray})
_UNBIND = frozenset({torch.unbind, torch.Tensor.unbind})
_CONTENTS = "_onnxpert_contents"  # the numbers and symbols that a tensor was made of


class OpenLists(TorchFunctionMode):
    """While on, a symbol in the data of a new tensor is no number."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = dict(kwargs or {})
        if func in _MAKERS or func is torch.Tensor.new_tensor:
            own = func is torch.Tensor.new_tensor
            data = args[own] if len(args) > own else given.get("data", given.get("obj"))
            leaves = list(_leaves(data))
            if any(isinstance(leaf, _SYMBOLS) for leaf in leaves) and all(map(_is_plain, leaves)):
                dtype = args[1] if not own and len(args) > 1 else given.get("dtype")
                return _made(data, dtype or (args[0].dtype if own else _dtype(leaves)))
        result = func(*args, **given)
        contents = getattr(args[0], _CONTENTS, None) if args else None
        if contents is not None:
            _take_apart(func, args[1:], contents, result)
        return result


def _take_apart(func: Any, rest: Any, contents: Any, result: Any) -> None:
    """What was read off a tensor of sizes is known as well."""
    if func in _UNBIND and not any(rest):
        for part, inner in zip(result, contents, strict=True):
            _remember(part, inner)
    elif func is torch.Tensor.__getitem__:
        index = rest[0] if isinstance(rest[0], tuple) else (rest[0],)
        if all(type(each) is int for each in index):
            for each in index:
                contents = contents[each]
            _remember(result, contents)


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


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, (int, float, *_SYMBOLS))


def _dtype(leaves: list[Any]) -> torch.dtype:
    """As torch finds it: one number with a fraction, and all have one."""
    fractions = any(isinstance(leaf, (float, torch.SymFloat)) for leaf in leaves)
    return torch.get_default_dtype() if fractions else torch.int64


def _made(data: Any, dtype: torch.dtype) -> torch.Tensor:
    parts = isinstance(data, (list, tuple))
    made = (
        torch.stack([_made(item, dtype) for item in data])
        if parts
        else torch.scalar_tensor(data, dtype=dtype)
    )
    _remember(made, data)
    return made
