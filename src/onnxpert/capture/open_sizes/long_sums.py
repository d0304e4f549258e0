"""Numbers of the data's that are computed with again and again: a long sum goes on as one number.

A mean that is kept up to date value by value has twice as many terms after each, and torch thinks about
all of them at every step. The graph holds the sum as a tensor; what is read from that is short."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

import torch
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from onnxpert.capture.reasoning import is_long

_ARITHMETIC = ("add", "sub", "mul", "truediv", "pow")


@contextmanager
def sums_kept_short(reads: list[Any] | None = None) -> Iterator[None]:
    """While on; `reads` are where Python took a value, to which none of these belongs."""
    noted = [] if reads is None else reads

    def short(plain: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def computed(one: Any, other: Any) -> Any:
            found = plain(one, other)
            if not isinstance(found, torch.SymFloat) or not is_long(found.node.expr):
                return found
            if not free_unbacked_symbols(found.node.expr):
                return found
            known = len(noted)
            number = torch.scalar_tensor(found, dtype=torch.float64).item()  # type: ignore[arg-type]
            del noted[known:]
            return number

        return computed

    with ExitStack() as stack:
        for name in (f"__{side}{each}__" for each in _ARITHMETIC for side in ("", "r")):
            plain = getattr(torch.SymFloat, name)
            stack.enter_context(patch.object(torch.SymFloat, name, short(plain)))
        yield
