"""`associative_scan` over a size that varies: one element after the other, which is a loop.

torch halves the sequence again and again, and how often depends on its length. The module and its
`generic_associative_scan` are private to torch; tried on 2.13 and 2.15."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

_SHORT = 16  # a longer one of a fixed size is better halved: that takes fewer calls


@contextmanager
def scans_in_order() -> Iterator[None]:
    """While on, a scan over a size that varies is a loop."""
    home: Any = importlib.import_module("torch._higher_order_ops.associative_scan")
    halving = home.generic_associative_scan
    home.generic_associative_scan = _either(halving)
    try:
        yield
    finally:
        home.generic_associative_scan = halving


def _either(halving: Callable[..., Any]) -> Callable[..., Any]:
    def scan(
        operator: Callable[..., Any],
        leaves: Sequence[torch.Tensor],
        dim: int = 0,
        additional_inputs: Sequence[Any] = (),
    ) -> Any:
        size: Any = leaves[0].shape[dim]
        if isinstance(size, int) and (size > _SHORT or not size):
            return halving(operator, leaves, dim, additional_inputs)
        return _in_order(operator, leaves, dim, additional_inputs)

    return scan


def _in_order(
    operator: Callable[..., Any],
    leaves: Sequence[torch.Tensor],
    dim: int,
    additional_inputs: Sequence[Any],
) -> list[torch.Tensor]:
    so_far = [leaf.select(dim, 0).unsqueeze(dim) for leaf in leaves]
    rows = [so_far]
    for turn in range(1, leaves[0].shape[dim]):
        here = [leaf.select(dim, turn).unsqueeze(dim) for leaf in leaves]
        found = operator(*so_far, *here, *additional_inputs)
        so_far = [found] if isinstance(found, torch.Tensor) else list(found)
        rows.append(so_far)
    return [torch.cat(column, dim) for column in zip(*rows, strict=True)]
