"""The ways out of torch: calls that hand a tensor's memory to something else, which no dispatcher sees.

While a model is scouted they are answered from the example's values, and noted. `FakeTensor.tolist`
is torch's own; tried on torch 2.13 and 2.15."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import torch
from torch._subclasses.fake_tensor import FakeTensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes

from onnxpert.capture.scouting.noticing import noticing
from onnxpert.capture.scouting.stumbling import is_librarys
from onnxpert.capture.scouting.witness import LEAVES
from onnxpert.core.types import Asked

if TYPE_CHECKING:
    from onnxpert.capture.scouting.scout import Scout

_NUMBERS = frozenset({"item", "tolist"})
_MOST_NUMBERS = 64  # of a list that are followed one by one


@contextmanager
def leaving(scout: Scout) -> Iterator[None]:
    """While on, every way out is watched."""
    with (
        patch.object(threading.Thread, "start", _starting(scout)),
        patch.object(FakeTensor, "tolist", _listing(scout)),
        patch.object(torch.SymInt, "__hash__", _hashing(scout)),
        _Calls(scout),
    ):
        yield


def _listing(scout: Scout) -> Callable[[FakeTensor], Any]:
    """`.tolist()`, which a fake tensor has of its own: a list as long as the data say is none."""
    plain = FakeTensor.tolist

    def tolist(fake: FakeTensor) -> Any:
        # As long as a dynamic size says, it would pin that size down for all that follows.
        if any(isinstance(size, torch.SymInt) for size in fake.shape) and scout.has(fake):
            scout.left("tolist")
            scout.looked_at(fake)
            real = scout.real(fake)
            if real.numel() > _MOST_NUMBERS:
                with _disable_current_modes():
                    return real.tolist()
            with scout.reading("tolist"):  # each number of which tells where Python needs it
                return scout.apart(real).tolist()
        with scout.reading("tolist"):
            return plain(fake)

    return tolist


def _hashing(scout: Scout) -> Callable[[torch.SymInt], int]:
    """A number as the key of a dictionary or in a set, where torch raises and ends the look."""
    plain = torch.SymInt.__hash__

    def hashed(symbol: torch.SymInt) -> int:
        number = None if is_librarys() else scout.as_number(symbol)
        return plain(symbol) if number is None else hash(number)

    return hashed


def _starting(scout: Scout) -> Callable[[threading.Thread], None]:
    plain = threading.Thread.start

    def start(thread: threading.Thread) -> None:
        if scout.place() is not None:
            scout.threads = True
            scout.block(Asked.CALL, "a thread is started, and what it computes is not seen")
        plain(thread)

    return start


class _Calls(TorchFunctionMode):
    """Sees the calls that never reach the dispatcher: `.numpy()`, `data_ptr()`, `from_numpy`."""

    def __init__(self, scout: Scout) -> None:
        super().__init__()
        self._scout = scout

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = dict(kwargs or {})
        scout = self._scout
        name = getattr(func, "__name__", "")
        try:
            if name == "__reduce_ex__" and isinstance(args[0], FakeTensor):
                raise TypeError("a tensor is pickled")  # noqa: TRY301  a fake one can be, up to a point
            if name in LEAVES and args and scout.is_constant(args[0]):
                with _disable_current_modes():
                    return func(*scout.reals(tuple(args)), **kwargs)
            if name == "__deepcopy__" and scout.is_real(args[0]):
                return scout.copied(func, args)
            with scout.reading(name):
                out = func(*args, **kwargs)
            if scout.takes_out(name, args):
                scout.left(name)
            if name in _NUMBERS and scout.given.has(scout.place()):
                out = noticing(out, scout.decided)
        except Exception as error:
            try:
                given, named = scout.reals((tuple(args), kwargs))
                with _disable_current_modes():
                    out = func(*given, **named)
            except Exception:  # it fails on real tensors too: the first error is the one to tell
                raise error from None
            scout.left(name, error)
            scout.looked_at((args, kwargs))
            return scout.stand_in(out)
        return out
