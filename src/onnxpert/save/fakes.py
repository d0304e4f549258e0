"""Tensors without values: of the meta device, or of a FakeTensorMode.

`torch._subclasses` is private with no public name for it; the same in torch 2.13 and 2.15."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


def has_no_values(tensor: torch.Tensor) -> bool:
    from torch._subclasses.fake_tensor import FakeTensor

    return tensor.is_meta or isinstance(tensor, FakeTensor)
