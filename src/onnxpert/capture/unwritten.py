"""Weights as they were after a real call of the model: each is copied before it is first written to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from onnxpert.core.storages import storage_if_any, written

_NOTHING_IN = frozenset({int, float, bool, str, type(None), torch.dtype, torch.device})


def tensors(tree: Any) -> list[torch.Tensor]:
    """Those in what a call is given or gives: flat, nearly always, where a pytree is a long way round."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    kind = type(tree)
    if kind in (list, tuple):
        return [tensor for each in tree for tensor in tensors(each)]
    if kind in _NOTHING_IN:
        return []
    return [each for each in pytree.tree_leaves(tree) if isinstance(each, torch.Tensor)]


class Unwritten(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While on, parameters may be written to; afterwards they hold what they held."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._weights = {storage_if_any(weight): weight for weight in module.parameters()}
        self._before: list[tuple[torch.Tensor, torch.Tensor]] = []

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        with torch.no_grad():
            for weight, value in self._before:
                weight.data.copy_(value)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        for each in tensors(list(written(func, args, kwargs))):
            weight = self._weights.pop(storage_if_any(each), None)
            if weight is not None:
                self._before.append((weight, weight.detach().clone()))
        return func(*args, **kwargs)
