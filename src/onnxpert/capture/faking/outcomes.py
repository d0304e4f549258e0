"""What calls that work element by element gave for operands of the same look, made again at once.

A loop over a size makes the same few calls in every turn, on rows that differ only in where they lie.
torch works each of them out anew: its own memory of calls tells operands apart by their place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from onnxpert.capture.faking.elementwise import Sizes, named

_PLAIN = (bool, int, float, type(None))


@dataclass(frozen=True, slots=True)
class _Outcome:
    shape: Sizes
    stride: Sizes
    dtype: torch.dtype
    device: torch.device


class Outcomes:
    """Those of one run, whose sizes are the same symbols throughout."""

    def __init__(self) -> None:
        self._known: dict[Any, _Outcome] = {}

    def key(self, func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any | None:
        """What the outcome depends on; None if on more than the looks of the operands."""
        if torch.Tag.pointwise not in func.tags or _keeps_memory(func) or kwargs:
            return None
        looks: list[Any] = []
        for arg in args:
            if isinstance(arg, torch.Tensor) and _is_its_look(arg):
                looks.append((arg.dtype, arg.device, named(arg.shape), named(arg.stride())))
            elif type(arg) in _PLAIN:
                looks.append((type(arg), arg))
            else:
                return None
        return (func, *looks)

    def again(self, key: Any) -> Any:
        """A tensor as that call gave one, or NotImplemented."""
        known = self._known.get(key)
        if known is None:
            return NotImplemented
        return torch.empty_strided(
            known.shape, known.stride, dtype=known.dtype, device=known.device
        )

    def keep(self, key: Any, out: Any) -> None:
        if isinstance(out, torch.Tensor):
            self._known[key] = _Outcome(tuple(out.shape), out.stride(), out.dtype, out.device)


def _keeps_memory(func: Any) -> bool:
    """Whether it writes to what it is given, or may give that back: `positive`."""
    return any(argument.alias_info is not None for argument in func._schema.arguments)


def _is_its_look(tensor: torch.Tensor) -> bool:
    """Whether sizes and dtype are all that there is to it: a lone number may be known, or give way
    to other dtypes."""
    constant = getattr(tensor, "constant", None)  # a fake tensor's
    plain = tensor.layout is torch.strided and not tensor.is_complex()
    return plain and tensor.dim() > 0 and constant is None
