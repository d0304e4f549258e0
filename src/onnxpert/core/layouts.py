"""Tensors of any layout: torch has no kernels of most kinds for sparse ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def densely(tensor: torch.Tensor) -> torch.Tensor:
    """With the zeros of a sparse one written out."""
    import torch

    return tensor if tensor.layout is torch.strided else tensor.to_dense()


def equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    import torch

    return torch.equal(densely(one), densely(other))


def refill(tensor: torch.Tensor, before: torch.Tensor) -> None:
    """What it held, in the size that it had: `resize_` changes that of a tensor in place."""
    import torch

    if tensor.shape != before.shape:
        tensor.data = before.clone()
        return
    with torch.no_grad():
        tensor.detach().copy_(before)
