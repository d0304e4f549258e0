"""Items that differ in the size of one axis, one behind the other along it, and how long each of them is."""

from __future__ import annotations

from typing import Any

import torch


def piece(rows: torch.Tensor, sizes: torch.Tensor, place: Any) -> torch.Tensor:
    """The rows of one item."""
    size = torch.select(sizes, 0, place)
    start: Any = (torch.select(sizes.cumsum(0), 0, place) - size).item()
    length: Any = size.item()
    return rows.narrow(0, start, length)


def part(
    rows: torch.Tensor, sizes: torch.Tensor, place: slice
) -> tuple[torch.Tensor, torch.Tensor]:
    """Neighbours."""
    kept = sizes[place]
    before: Any = sizes[: place.start].sum().item() if place.start is not None else 0
    length: Any = kept.sum().item()
    return rows.narrow(0, before, length), kept


def turned(rows: torch.Tensor, sizes: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The last item first, each as it is inside."""
    order = sizes.flip(0)
    ends = order.cumsum(0)
    at = torch.arange(rows.shape[0])
    item = torch.searchsorted(ends, at, right=True)  # past those of which there are no rows, too
    moved = (sizes.cumsum(0) - sizes).flip(0) - (ends - order)
    return rows.index_select(0, at + moved.index_select(0, item)), order
