"""Other values than those of an example: other sides of comparisons, other lengths, and the edges of what there is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_FILLED = ("low", "none", "high")
EDGES = (*_FILLED, "ties", "pairs")
UNKNOWN = ("first unknown", "last unknown", "some unknown", "all unknown")  # what is no number
# Edges of what a user may not have thought of, by what they are made of.
UNUSUAL = {
    "NaN": UNKNOWN,
    "an infinity": ("first infinite", "some infinite", "all infinite", "last below all"),
    "very large values": ("huge",),
}
_PUT = {"unknown": "nan", "infinite": "inf", "below all": "-inf"}
_HUGE = 1e30  # times its values: products leave the range of float32
_ABOVE = 2  # the largest whole number of the example's


def scaled(value: Any, factor: float) -> Any:
    import torch

    floating = isinstance(value, torch.Tensor) and value.is_floating_point()
    return value * factor if floating else value


def redrawn(value: Any, dice: Any, near: bool) -> Any:
    import torch

    if not isinstance(value, torch.Tensor) or value.layout is not torch.strided:
        return value
    if near and value.numel() and not value.is_floating_point() and not value.is_complex():
        return _whole_numbers(value, dice)
    order = torch.randperm(value.numel(), generator=dice).to(value.device)
    mixed = value.detach().reshape(-1)[order].reshape(value.shape)
    if not near or not value.is_floating_point() or value.numel() < 2:
        return mixed
    spread = torch.randn(value.shape, generator=dice).to(value) * value.detach().std()
    return mixed + spread


def _whole_numbers(value: Any, dice: Any) -> Any:
    """Some between those that are there and a little above: where there are too large ones, a model refuses."""
    import torch

    is_truth = value.dtype is torch.bool
    low, high = (0, 1) if is_truth else (min(0, int(value.min())), int(value.max()) + _ABOVE)
    return torch.randint(low, high + 1, value.shape, generator=dice).to(value)


def edged(value: Any, edge: str) -> Any:
    """All alike, so that a mask chooses all or nothing; with ties; every row twice; or with what is
    no number."""
    import torch

    if (
        not isinstance(value, torch.Tensor)
        or value.layout is not torch.strided
        or not value.numel()
    ):
        return value
    floating = value.is_floating_point() or value.is_complex()
    if edge in _FILLED:
        ends = (int(value.min()), int(value.max())) if not floating else (-1, 1)
        return torch.full_like(value, {"low": ends[0], "none": 0, "high": ends[1]}[edge])
    if edge == "pairs":
        return _paired(value)
    if not value.is_floating_point():
        return value
    if edge == "ties":
        return value.round()
    return value * _HUGE if edge == "huge" else _marked(value, edge)


def _marked(value: Any, edge: str) -> Any:
    """With what is no number, or none that is finite, at some places."""
    import torch

    which, _, what = edge.partition(" ")
    number = torch.arange(value.numel(), device=value.device).reshape(value.shape)
    places = {"first": number == 0, "last": number == value.numel() - 1, "some": number % 3 == 1}
    return value.masked_fill(places.get(which, number >= 0), float(_PUT[what]))


def _paired(value: Any) -> Any:
    """With each row twice, and half of them: what looks for its like finds it, and not everywhere."""
    import torch

    axis = next((axis for axis, many in enumerate(value.shape) if many > 1), None)
    if axis is None:
        return value
    number = torch.arange(value.shape[axis], device=value.device)
    return value.index_select(axis, number // 2)


def lengthened(value: Any, axes: Mapping[int, str], chosen: set[str], more: int) -> Any:
    """A tensor that begins anew where it ends, so that no value is one that was not there."""
    import torch

    for axis, name in axes.items():
        if name in chosen and isinstance(value, torch.Tensor):
            many = value.shape[axis]
            value = value.index_select(axis, torch.arange(many + more) % many)
    return value
