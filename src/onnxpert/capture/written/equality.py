"""Truths of Python's that only a run knows: `torch.equal`, `torch.allclose`, `torch.is_nonzero`, and
`mask | (turn == last)`."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols
from torch.overrides import TorchFunctionMode

from onnxpert.capture.written.pages import same_size

Tensor = torch.Tensor
_EQUAL = (torch.equal, Tensor.equal)
_CLOSE = (torch.allclose, Tensor.allclose)
_NONZERO = (torch.is_nonzero, Tensor.is_nonzero)
_BINARY = frozenset(
    function
    for home in (torch, Tensor)
    for word in ("and", "or", "xor", "add", "sub", "mul", "eq", "ne")
    for name in (f"__{word}__", f"__r{word}__", word, f"logical_{word}", f"bitwise_{word}")
    if (function := getattr(home, name, None)) is not None
)


class WrittenTruths(TorchFunctionMode):
    """While on, they give a truth that is handed on like any tensor."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        given = kwargs or {}
        if func in _EQUAL and _is_alike(*args[:2]):
            return (args[0] == args[1]).all()
        if func in _CLOSE:  # whose sizes need not be alike
            return torch.isclose(*args, **given).all()
        if func in _NONZERO and args[0].numel() == 1:
            return (args[0] != 0).reshape(())
        if func in _BINARY:
            args = tuple(map(_as_tensor, args))
        return func(*args, **given)


def _as_tensor(value: Any) -> Any:
    """A truth without axes, which changes no dtype, as Python's own does not."""
    if not isinstance(value, torch.SymBool) or not free_unbacked_symbols(value):
        return value
    number: Any = torch.sym_ite(value, 1, 0)  # type: ignore[no-untyped-call]
    return torch.scalar_tensor(number, dtype=torch.int64) != 0


def _is_alike(one: Any, other: Any) -> bool:
    """Of other sizes they may be told apart without their values."""
    return one.dim() == other.dim() and all(map(same_size, one.shape, other.shape))
