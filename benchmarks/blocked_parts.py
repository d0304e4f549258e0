"""What a model calls in another file."""

from __future__ import annotations

import collections

import torch
from torch import Tensor


def sorted_rows(x: Tensor) -> Tensor:
    """Rows in an order that Python makes."""
    order = sorted(range(x.shape[1]), key=lambda row: x[0, row, 0].item())
    return x[:, order]


def counted(x: Tensor) -> Tensor:
    """What a list of the values has most of."""
    most = collections.Counter(x[0, :, 0].round().tolist()).most_common(1)
    return x + most[0][0]


def spectrum(x: Tensor) -> Tensor:
    """What has no lowering."""
    return x + torch.linalg.eigvals(x[0] @ x[0].mT).real.sum()
