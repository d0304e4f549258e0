"""Operators that give Python a truth value: as a tensor's item, which can be asked for by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

aten = torch.ops.aten


def _is_nonzero(value: torch.Tensor) -> bool:
    if value.numel() != 1:
        said = "no values is" if value.numel() == 0 else "more than one value is"
        raise RuntimeError(f"Boolean value of Tensor with {said} ambiguous")
    return bool(value.item())


def _equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.dim() != other.dim() or one.shape != other.shape:
        return False
    return bool((one == other).all().item())


def _all_close(
    one: torch.Tensor,
    other: torch.Tensor,
    rtol: float = 1e-5,
    atol: float = 1e-8,
    equal_nan: bool = False,
) -> bool:
    return bool(torch.isclose(one, other, rtol, atol, equal_nan).all().item())


TRUTHS: dict[Any, Callable[..., bool]] = {
    aten.is_nonzero.default: _is_nonzero,
    aten.equal.default: _equal,
    aten.allclose.default: _all_close,
}
