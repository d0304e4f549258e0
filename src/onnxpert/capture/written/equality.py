"""`torch.equal`, `torch.allclose` and `torch.is_nonzero`: truths of Python's that only a run knows."""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from onnxpert.capture.written.pages import same_size

Tensor = torch.Tensor
_EQUAL = (torch.equal, Tensor.equal)
_CLOSE = (torch.allclose, Tensor.allclose)
_NONZERO = (torch.is_nonzero, Tensor.is_nonzero)


class WrittenTruths(TorchFunctionMode):
    """While on, they give a truth that is handed on like any tensor."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func in _EQUAL and _is_alike(*args[:2]):
            return (args[0] == args[1]).all()
        if func in _CLOSE and _is_alike(*args[:2]):
            return torch.isclose(*args, **given).all()
        if func in _NONZERO and args[0].numel() == 1:
            return (args[0] != 0).reshape(())
        return func(*args, **given)


def _is_alike(one: Any, other: Any) -> bool:
    """Of other sizes they may be told apart without their values."""
    return one.dim() == other.dim() and all(map(same_size, one.shape, other.shape))
