"""Which memory a tensor looks at, and which of its arguments a call writes to.

A storage's `_cdata` is torch's own: equal for views of one memory, and there for fakes, which have no
address; tried on torch 2.13 and 2.15."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def storage(tensor: torch.Tensor) -> int:
    """Equal for tensors that share memory; one without any, which nothing is a view of, has its own."""
    found = storage_if_any(tensor)
    return ~id(tensor) if found is None else found


def storage_if_any(tensor: torch.Tensor) -> int | None:
    """None for a tensor without one memory: a sparse one, one inside vmap, one that wraps others."""
    try:
        return int(tensor.untyped_storage()._cdata)
    except (NotImplementedError, RuntimeError):
        return None


def written(target: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Iterator[Any]:
    """What a call of `target` writes to, by its schema; of a list, each item."""
    schema = getattr(target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return
    for index, argument in enumerate(schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = args[index] if index < len(args) else kwargs.get(argument.name)
        yield from given if isinstance(given, (list, tuple)) else [given]
