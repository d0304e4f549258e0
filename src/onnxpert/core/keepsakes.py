"""Weights that forward writes to, as they were before it ran: all of a model would be too much to copy."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from onnxpert.core.layouts import equal, refill

if TYPE_CHECKING:
    import torch

_Kept = dict[int, "tuple[torch.Tensor, torch.Tensor]"]  # by id: a tensor, and what was in it
_KEPT: ContextVar[_Kept | None] = ContextVar("kept", default=None)


@contextmanager
def given_back() -> Iterator[None]:
    """At the end, whatever was kept has its values again."""
    token = _KEPT.set({})
    try:
        yield
    finally:
        give_back()
        _KEPT.reset(token)


def give_back() -> None:
    """What was kept so far has its values again, and goes on being kept."""
    for tensor, before in (_KEPT.get() or {}).values():
        if not equal(tensor, before):
            refill(tensor, before)


def keep(tensor: torch.Tensor) -> None:
    """Remember what is in it, if nobody has yet."""
    kept = _KEPT.get()
    if kept is not None and id(tensor) not in kept:
        kept[id(tensor)] = (tensor, tensor.detach().clone())
