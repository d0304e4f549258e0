"""Weights as they were after a real call of the model: each is copied before it is first written to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode


def memory(tensor: torch.Tensor) -> int | None:
    """Which memory a tensor looks at; None for one that has several."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):  # a sparse one, one inside vmap
        return None


def tensors(tree: Any) -> list[torch.Tensor]:
    return [each for each in pytree.tree_leaves(tree) if isinstance(each, torch.Tensor)]


def written(func: Any, args: Any, kwargs: Mapping[str, Any]) -> Iterator[torch.Tensor]:
    """What a call writes to, by its schema."""
    schema = getattr(func, "_schema", None)
    if schema is None or not schema.is_mutable:
        return
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            given = args[index] if index < len(args) else kwargs.get(argument.name)
            yield from tensors(given)


class Unwritten(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """While on, parameters may be written to; afterwards they hold what they held."""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._weights = {memory(weight): weight for weight in module.parameters()}
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
        for each in written(func, args, kwargs):
            weight = self._weights.pop(memory(each), None)
            if weight is not None:
                self._before.append((weight, weight.detach().clone()))
        return func(*args, **kwargs)
